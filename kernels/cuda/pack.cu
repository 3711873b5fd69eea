/* pack.cu: from the user's matrix to packed factors and back.
 *
 * UNIT OF WORK. A block fills a run of records of one pencil of one part. No block waits for
 * another; every place of the records is written once, by the block that they belong to.
 *
 * ORDER. A record holds the lines of a pencil at different x; the matrix holds the x of one line
 * side by side. So a block brings coefficients in the order of the matrix into a tile in shared
 * memory, and writes whole records from it. Of a run of records starting with record r, each line's
 * points are an interval of x, or two where the line ends in it. They are read in the order of x
 * modulo the run's length: that lets reads begin where sectors of memory do, and where the axes are
 * turned and the neighbours in memory are neighbouring lines, these are read together.
 *
 * SOURCES. Stencil arrays, and CSR that is packed transposed, are gathered coefficient by
 * coefficient (pack_gathered). A row of a CSR with as many entries as its place in the grid lets
 * one expect is read entry by entry, as it lies in memory, and its columns are compared with those
 * expected; any other row is merged with the stencil by one thread (pack_csr_rows). */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/pack.cuh"
#include "cuda/pack_rows.cuh"

namespace {

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / GSW_TILE_LANES;
constexpr int BATCH = 4; /* loads of a thread that are under way together */
constexpr int64_t BLOCKS_MAX = int64_t{1} << 30;

/* ---- The tile of a block ----------------------------------------------------------------------
 */

/* A line of the pencil. Its point x is row `row` + x * stride[0], not mirrored. */
struct pack_line {
    int64_t row;
    int32_t y, z;
    int32_t shift; /* record of the first point in the part's order */
    int32_t turn;  /* shift, modulo the run's length */
    int32_t inside;
};

/* A row of a CSR: its first entry, and which couplings its entries are. */
struct pack_row {
    int64_t row;
    int64_t first;
    uint64_t mask;     /* 0: no point */
    int32_t place;     /* in the tile, for coefficient 0; -1: none */
    int32_t irregular; /* the columns have to be merged with the stencil */
};

/* Shared memory of a block, and the run of records that it fills. */
template <typename Stored> struct pack_block {
    pack_line *line;    /* [member][lane] */
    double *diagonal;   /* [member][lane][record]: what is stored, or its reciprocal */
    Stored *tile;       /* [coefficient][lane][record] */
    int64_t *step;      /* CSR: steps of the plan's couplings */
    pack_row *row;      /* CSR: [member][lane][record] in the order of reading */
    int64_t ticket;     /* of the pencil */
    int32_t first;      /* record of the run */
    int32_t count;      /* records in the run: fewer than 1 << run_bits in the last one */
    int32_t pitch;      /* of a lane in `diagonal` and `tile`: odd, against bank conflicts */
    int32_t tile_pitch; /* of a coefficient in `tile` */
};

GSW_HD int32_t lines_of(const pack_plan &plan) {
    return plan.members * GSW_TILE_LANES;
}

GSW_HD int32_t lane_pitch(const pack_plan &plan) {
    return (1 << plan.run_bits) + 1;
}

GSW_HD int64_t coefficients_of(const pack_plan &plan) {
    return (int64_t)plan.terms * plan.members;
}

/* Bytes of shared memory. */
template <typename Stored> size_t block_bytes(const pack_plan &plan, bool csr_rows) {
    const size_t lines = (size_t)lines_of(plan), run = (size_t)1 << plan.run_bits;
    size_t bytes = lines * sizeof(pack_line);
    if (plan.diagonal || plan.scale)
        bytes += lines * (run + 1) * sizeof(double);
    if (csr_rows)
        bytes += (size_t)plan.taps * sizeof(int64_t) + lines * run * sizeof(pack_row);
    return bytes + (size_t)plan.pass * (GSW_TILE_LANES * (run + 1) + 1) * sizeof(Stored);
}

/* Divides the shared memory, and takes a job. */
template <typename Stored>
GSW_HD pack_block<Stored> block_of(const pack_plan &plan, void *shared, bool csr_rows,
                                   int64_t job) {
    const int32_t lines = lines_of(plan), run = 1 << plan.run_bits;
    const int64_t runs = plan.jobs / plan.pencils;
    pack_block<Stored> block;
    block.ticket = job / runs;
    block.first = (int32_t)(job % runs) << plan.run_bits;
    block.count = plan.records - block.first < run ? plan.records - block.first : run;
    block.pitch = lane_pitch(plan);
    block.tile_pitch = GSW_TILE_LANES * block.pitch + 1;
    block.line = (pack_line *)shared;
    block.diagonal = (double *)(block.line + lines);
    block.step = (int64_t *)block.diagonal;
    if (plan.diagonal || plan.scale)
        block.step += lines * block.pitch;
    block.row = (pack_row *)(block.step + (csr_rows ? plan.taps : 0));
    block.tile = (Stored *)(block.row + (csr_rows ? lines * run : 0));
    return block;
}

/* The lines of the pencil: for thread `thread` of the block. */
template <typename Stored>
GSW_HD void place_lines(const pack_plan &plan, const pack_block<Stored> &block, int32_t thread) {
    const gsw_pencil pencil = plan.table[block.ticket];
    for (int32_t i = thread; i < lines_of(plan); i += THREADS) {
        const int32_t lane = i % GSW_TILE_LANES, member = i / GSW_TILE_LANES;
        const int32_t ly = lane % plan.lanes_y * plan.lines_y + member % plan.lines_y;
        const int32_t lz = lane / plan.lanes_y * plan.lines_z + member / plan.lines_y;
        const int64_t z = (int64_t)pencil.k * plan.tile_z - plan.pad_z + lz;
        const int64_t y = (int64_t)pencil.j * plan.tile_y - plan.pad_y + ly - plan.shear * z;
        pack_line line;
        line.inside = y >= 0 && y < plan.ny && z >= 0 && z < plan.nz;
        line.y = (int32_t)(plan.upper ? plan.ny - 1 - y : y);
        line.z = (int32_t)(plan.upper ? plan.nz - 1 - z : z);
        line.row = line.y * plan.stride[1] + line.z * plan.stride[2];
        line.shift =
            (int32_t)(((int64_t)plan.skew_y * ly + (int64_t)plan.skew_z * lz) % plan.records);
        line.turn = line.shift % block.count;
        block.line[i] = line;
    }
}

/* Where one of the values that a block brings belongs. */
struct pack_place {
    int32_t lane;
    int32_t record; /* counted from the run's first */
    int32_t used;   /* there is such a record */
    int32_t real;   /* and it holds a point for this line */
    pack_point point;
};

/* Point i of one member's lines, in the order of reading: neighbouring i are neighbours in memory.
 */
template <typename Stored>
GSW_HD pack_place place_of(const pack_plan &plan, const pack_block<Stored> &block, int32_t member,
                           int32_t i) {
    const int32_t mask = (1 << plan.run_bits) - 1;
    const bool along_x = plan.stride[0] == 1;
    const int32_t u = along_x ? i & mask : i / GSW_TILE_LANES;
    pack_place place;
    place.lane = along_x ? i >> plan.run_bits : i % GSW_TILE_LANES;
    place.used = u < block.count;
    const pack_line &line = block.line[member * GSW_TILE_LANES + place.lane];
    place.record = u + line.turn < block.count ? u + line.turn : u + line.turn - block.count;
    int32_t x = block.first + place.record - line.shift;
    x = x < 0 ? x + plan.records : x;
    place.real = place.used && line.inside && x < plan.nx;
    place.point.x = plan.upper ? plan.nx - 1 - x : x;
    place.point.y = line.y;
    place.point.z = line.z;
    place.point.row = line.row + place.point.x * plan.stride[0];
    return place;
}

/* Where a value lies in the tile, for coefficient 0. */
template <typename Stored>
GSW_HD int32_t tile_place(const pack_block<Stored> &block, const pack_place &place) {
    return place.lane * block.pitch + place.record;
}

/* Where the diagonal of a point lies. */
template <typename Stored>
GSW_HD int32_t diagonal_place(const pack_block<Stored> &block, int32_t member, int32_t place) {
    return member * GSW_TILE_LANES * block.pitch + place;
}

/* Puts `value` into the tile as its coefficient `slot`, as it is to be stored: scaled, if the part
 * is; what is zero stays so whatever the diagonal. */
template <typename Stored>
GSW_HD void put(const pack_plan &plan, const pack_block<Stored> &block, int32_t member,
                int32_t place, int32_t slot, double value) {
    if (plan.scale) {
        const double scale =
            plan.scale_factor * block.diagonal[diagonal_place(block, member, place)];
        value = value != 0 ? value * scale : 0;
    }
    block.tile[slot * block.tile_pitch + place] = (Stored)value;
}

/* ---- Diagonals --------------------------------------------------------------------------------
 */

/* SSOR: a diagonal that cannot be divided by. */
template <typename Source>
GSW_HD double mend_pivot(const pack_plan &plan, const Source &source, const pack_point &point,
                         double d) {
    if (!(plan.pivot_shift > 0)) {
        pack_lower(&plan.pivots->bad, point.row);
        return d;
    }
    double largest = 0;
    for (int32_t t = 0; t < plan.taps; t++) {
        const double size = fabs(source.at(plan, point, t));
        if (size > largest && size <= DBL_MAX)
            largest = size;
    }
    if (plan.counts)
        pack_count(&plan.pivots->shifted);
    const double shift = plan.pivot_shift * (largest > 0 ? largest : 1);
    return d < 0 ? -shift : shift;
}

/* What is kept of a diagonal: itself before an elimination, else its reciprocal. */
template <typename Source>
GSW_HD double finish_diagonal(const pack_plan &plan, const Source &source, const pack_point &point,
                              double d) {
    if (plan.raw)
        return d;
    const double size = fabs(d);
    if (plan.guard && !(size >= DBL_MIN && size <= DBL_MAX))
        d = mend_pivot(plan, source, point, d);
    return 1 / d;
}

/* ---- Writing ----------------------------------------------------------------------------------
 */

template <typename Stored> struct alignas(16) pack_vector { Stored value[16 / sizeof(Stored)]; };

template <typename Stored>
GSW_HD Stored *record_of(const pack_plan &plan, const pack_block<Stored> &block, int32_t record) {
    const int64_t values =
        (coefficients_of(plan) + (int64_t)plan.diagonal * plan.members) * GSW_TILE_LANES;
    return (Stored *)plan.values + (block.ticket * plan.records + block.first + record) * values;
}

/* Writes coefficients first..last-1 of the run's records from the tile, a record a warp: see
 * gsw_packed_value(). `first` is a multiple of `vector`. */
template <typename Stored>
GSW_HD void write_tile(const pack_plan &plan, const pack_block<Stored> &block, int32_t first,
                       int32_t last, int32_t thread) {
    constexpr int32_t vector = 16 / (int32_t)sizeof(Stored);
    const int32_t whole = (int32_t)coefficients_of(plan) / vector * vector;
    const int32_t lane = thread % GSW_TILE_LANES;
    for (int32_t record = thread / GSW_TILE_LANES; record < block.count; record += WARPS) {
        Stored *to = record_of(plan, block, record);
        const Stored *from = block.tile + lane * block.pitch + record;
        int32_t v = first;
        for (; v < last && v < whole; v += vector) {
            pack_vector<Stored> out;
            for (int32_t k = 0; k < vector; k++)
                out.value[k] = from[(v - first + k) * block.tile_pitch];
            ((pack_vector<Stored> *)to)[v / vector * GSW_TILE_LANES + lane] = out;
        }
        for (; v < last; v++)
            to[v * GSW_TILE_LANES + lane] = from[(v - first) * block.tile_pitch];
    }
}

/* Writes the (reciprocal) diagonals of the run's records. */
template <typename Stored>
GSW_HD void write_diagonal(const pack_plan &plan, const pack_block<Stored> &block, int32_t thread) {
    const double factor = plan.raw ? 1 : plan.diagonal_factor;
    for (int32_t record = thread / GSW_TILE_LANES; record < block.count; record += WARPS) {
        Stored *to = record_of(plan, block, record) + coefficients_of(plan) * GSW_TILE_LANES;
        for (int32_t i = thread % GSW_TILE_LANES; i < lines_of(plan); i += GSW_TILE_LANES) {
            const int32_t lane = i / plan.members, member = i % plan.members;
            const int32_t line = member * GSW_TILE_LANES + lane;
            to[i] = (Stored)(factor * block.diagonal[line * block.pitch + record]);
        }
    }
}

/* ---- Gathering coefficient by coefficient -----------------------------------------------------
 */

template <typename Stored, typename Source>
GSW_HD void gather_diagonal(const pack_plan &plan, const Source &source,
                            const pack_block<Stored> &block, int32_t thread) {
    for (int32_t member = 0; member < plan.members; member++) {
        for (int32_t i = thread; i < GSW_TILE_LANES << plan.run_bits; i += THREADS) {
            const pack_place place = place_of(plan, block, member, i);
            double d = 0;
            if (place.real)
                d = finish_diagonal(plan, source, place.point,
                                    source.at(plan, place.point, plan.center));
            if (place.used)
                block.diagonal[diagonal_place(block, member, tile_place(block, place))] = d;
        }
    }
}

/* Coefficients first..last-1 to the tile. */
template <typename Stored, typename Source>
GSW_HD void gather(const pack_plan &plan, const Source &source, const pack_block<Stored> &block,
                   int32_t first, int32_t last, int32_t thread) {
    const int32_t members = plan.members;
    for (int32_t member = 0; member < members; member++) {
        for (int32_t i = thread; i < GSW_TILE_LANES << plan.run_bits; i += THREADS) {
            const pack_place place = place_of(plan, block, member, i);
            if (!place.used)
                continue;
            int32_t term = (first + members - 1 - member) / members; /* of this member */
            for (int32_t v = term * members + member; v < last; v += BATCH * members) {
                double value[BATCH];
                for (int32_t k = 0; k < BATCH; k++) {
                    value[k] = 0;
                    if (place.real && v + k * members < last)
                        value[k] = source.at(plan, place.point, plan.tap_of[term + k]);
                }
                for (int32_t k = 0; k < BATCH; k++) {
                    if (v + k * members < last)
                        put(plan, block, member, tile_place(block, place), v + k * members - first,
                            value[k]);
                }
                term += BATCH;
            }
        }
    }
}

template <typename Stored, typename Source>
__global__ void __launch_bounds__(THREADS)
    pack_gathered(const __grid_constant__ pack_plan plan, const __grid_constant__ Source source) {
    extern __shared__ double shared[];
    const int32_t thread = (int32_t)threadIdx.x, total = (int32_t)coefficients_of(plan);
    for (int64_t job = blockIdx.x; job < plan.jobs; job += gridDim.x) {
        const pack_block<Stored> block = block_of<Stored>(plan, shared, false, job);
        place_lines(plan, block, thread);
        __syncthreads();
        if (plan.diagonal || plan.scale) {
            gather_diagonal(plan, source, block, thread);
            __syncthreads();
        }
        if (plan.diagonal)
            write_diagonal(plan, block, thread);
        for (int32_t first = 0; first < total; first += plan.pass) {
            const int32_t last = first + plan.pass < total ? first + plan.pass : total;
            gather(plan, source, block, first, last, thread);
            __syncthreads();
            write_tile(plan, block, first, last, thread);
            __syncthreads();
        }
        __syncthreads();
    }
}

/* ---- Rows of a CSR ----------------------------------------------------------------------------
 */

/* Which couplings the row of a point is expected to hold. */
template <typename Source>
GSW_HD uint64_t expected_couplings(const pack_plan &plan, const Source &csr,
                                   const pack_point &point) {
    const uint64_t all = csr.last < 64 ? (UINT64_C(1) << csr.last) - 1 : ~UINT64_C(0);
    uint64_t mask = all >> csr.first << csr.first;
    if (pack_is_deep(plan, point.x, point.y, point.z))
        return mask;
    for (int32_t t = csr.first; t < csr.last; t++) {
        if (!pack_exists(plan, point, plan.tap[t]))
            mask &= ~(UINT64_C(1) << t);
    }
    return mask;
}

/* Row i of the block's rows, in the order of reading: which member's, and its place. */
GSW_HD int32_t member_of_row(const pack_plan &plan, int32_t i) {
    return i >> plan.run_bits >> 5;
}

template <typename Stored>
GSW_HD pack_place place_of_row(const pack_plan &plan, const pack_block<Stored> &block, int32_t i) {
    static_assert(GSW_TILE_LANES == 1 << 5, "rows of one member");
    return place_of(plan, block, member_of_row(plan, i),
                    i & ((GSW_TILE_LANES << plan.run_bits) - 1));
}

GSW_HD bool holds(const pack_row &row, int32_t t) {
    return row.mask != 0 && !row.irregular && (row.mask >> t & 1);
}

/* Checks the row pointers: is a row's length that of all its expected entries? */
template <typename Stored, typename Source>
GSW_HD void examine_rows(const pack_plan &plan, const Source &csr, const pack_block<Stored> &block,
                         int32_t thread) {
    for (int32_t t = thread; t < plan.taps; t += THREADS)
        block.step[t] = plan.tap[t].step;
    for (int32_t i = thread; i < lines_of(plan) << plan.run_bits; i += THREADS) {
        const pack_place place = place_of_row(plan, block, i);
        pack_row row = {place.point.row, 0, 0, place.used ? tile_place(block, place) : -1, 0};
        if (place.real) {
            int64_t end;
            csr.row_entries(plan, row.row, &row.first, &end);
            if (plan.taps <= 64)
                row.mask = expected_couplings(plan, csr, place.point);
            row.irregular = plan.taps > 64 || end - row.first != pack_bits(row.mask);
        }
        block.row[i] = row;
    }
}

/* How the threads of a block share `rows` times `width` values, row by row: a thread always works
 * on the same place of a row (`column`), in rows first, first + every, ... */
struct pack_share {
    int32_t column, first, every;
};

GSW_HD pack_share share_rows(int32_t rows, int32_t width, int32_t thread) {
    if (width == 0 || thread >= THREADS / width * width)
        return {0, rows, 1};
    return {thread % width, thread / width, THREADS / width};
}

/* Are the columns those expected? Read as they lie in memory. */
template <typename Stored, typename Source>
GSW_HD void check_columns(const pack_plan &plan, const Source &csr, const pack_block<Stored> &block,
                          int32_t thread) {
    const int32_t rows = lines_of(plan) << plan.run_bits;
    const pack_share share = share_rows(rows, csr.last - csr.first, thread);
    const int32_t t = csr.first + share.column;
    for (int32_t i = share.first; i < rows; i += BATCH * share.every) {
        int64_t differs[BATCH];
        for (int32_t k = 0; k < BATCH; k++) {
            const int32_t at = i + k * share.every;
            differs[k] = 0;
            if (at >= rows)
                continue;
            const pack_row &row = block.row[at];
            if (holds(row, t))
                differs[k] = csr.column(row.first + pack_bits_below(row.mask, t)) -
                             (row.row + block.step[t]);
        }
        for (int32_t k = 0; k < BATCH; k++) {
            if (differs[k] != 0)
                block.row[i + k * share.every].irregular = 1; /* by any of the row's threads */
        }
    }
}

/* Diagonals of all rows. */
template <typename Stored, typename Source>
GSW_HD void fetch_diagonals(const pack_plan &plan, const Source &csr,
                            const pack_block<Stored> &block, int32_t thread) {
    for (int32_t i = thread; i < lines_of(plan) << plan.run_bits; i += THREADS) {
        const pack_place place = place_of_row(plan, block, i);
        const pack_row &row = block.row[i];
        double d = 0;
        if (row.irregular)
            d = csr.at(plan, place.point, plan.center);
        else if (holds(row, plan.center))
            d = (double)pack_load(csr.values + row.first + pack_bits_below(row.mask, plan.center));
        if (place.real)
            d = finish_diagonal(plan, csr, place.point, d);
        if (place.used)
            block.diagonal[diagonal_place(block, member_of_row(plan, i), row.place)] = d;
    }
}

/* Merges the columns of one row with the couplings that stay in the grid, both ascending; reports
 * the row where a column is none of them. Brings coefficients first..last-1. */
template <typename Stored, typename Source>
GSW_HD void merge_row(const pack_plan &plan, const Source &csr, const pack_block<Stored> &block,
                      int32_t i, int32_t first, int32_t last) {
    const int32_t member = member_of_row(plan, i), place = block.row[i].place;
    const pack_point point = place_of_row(plan, block, i).point;
    for (int32_t v = first; v < last; v++) {
        if (v % plan.members == member)
            put(plan, block, member, place, v - first, 0);
    }
    int64_t k, end;
    csr.row_entries(plan, point.row, &k, &end);
    for (int32_t t = 0; t < plan.taps && k < end; t++) {
        if (csr.column(k) != point.row + block.step[t] || !pack_exists(plan, point, plan.tap[t]))
            continue;
        const int32_t term = plan.term_of[t], v = term * plan.members + member;
        if (term < plan.terms && v >= first && v < last)
            put(plan, block, member, place, v - first, (double)pack_load(csr.values + k));
        k++;
    }
    if (k < end)
        pack_lower(&plan.pivots->misfit, point.row);
}

/* Coefficients first..last-1 of the rows whose columns are not those expected. */
template <typename Stored, typename Source>
GSW_HD void merge_rows(const pack_plan &plan, const Source &csr, const pack_block<Stored> &block,
                       int32_t first, int32_t last, int32_t thread) {
    for (int32_t i = thread; i < lines_of(plan) << plan.run_bits; i += THREADS) {
        if (block.row[i].irregular)
            merge_row(plan, csr, block, i, first, last);
    }
}

/* Coefficients first..last-1 of the other rows, and zeros where there is no point: the entries are
 * read as they lie in memory. */
template <typename Stored, typename Source>
GSW_HD void fetch_rows(const pack_plan &plan, const Source &csr, const pack_block<Stored> &block,
                       int32_t first, int32_t last, int32_t thread) {
    const int32_t rows = lines_of(plan) << plan.run_bits;
    const pack_share share = share_rows(rows, plan.terms, thread);
    const int32_t t = (plan.upper ? plan.center + 1 : 0) + share.column;
    const int32_t term = plan.term_of[t];
    for (int32_t i = share.first; i < rows; i += BATCH * share.every) {
        double value[BATCH];
        int32_t slot[BATCH]; /* -1: none of these coefficients, or merged */
        for (int32_t k = 0; k < BATCH; k++) {
            const int32_t at = i + k * share.every;
            const int32_t v = term * plan.members + member_of_row(plan, at);
            slot[k] = -1;
            value[k] = 0;
            if (at >= rows || v < first || v >= last)
                continue;
            const pack_row row = block.row[at];
            if (row.place >= 0 && !row.irregular)
                slot[k] = v - first;
            if (holds(row, t))
                value[k] = (double)pack_load(csr.values + row.first + pack_bits_below(row.mask, t));
        }
        for (int32_t k = 0; k < BATCH; k++) {
            const int32_t at = i + k * share.every;
            if (slot[k] >= 0)
                put(plan, block, member_of_row(plan, at), block.row[at].place, slot[k], value[k]);
        }
    }
}

template <typename Stored, typename Source>
__global__ void __launch_bounds__(THREADS)
    pack_csr_rows(const __grid_constant__ pack_plan plan, const __grid_constant__ Source csr) {
    extern __shared__ double shared[];
    const int32_t thread = (int32_t)threadIdx.x, total = (int32_t)coefficients_of(plan);
    for (int64_t job = blockIdx.x; job < plan.jobs; job += gridDim.x) {
        const pack_block<Stored> block = block_of<Stored>(plan, shared, true, job);
        place_lines(plan, block, thread);
        __syncthreads();
        examine_rows(plan, csr, block, thread);
        __syncthreads();
        if (csr.check) {
            check_columns(plan, csr, block, thread);
            __syncthreads();
        }
        if (plan.diagonal || plan.scale) {
            fetch_diagonals(plan, csr, block, thread);
            __syncthreads();
        }
        if (plan.diagonal)
            write_diagonal(plan, block, thread);
        int32_t first = 0;
        do { /* also where there are no coefficients: the rows are looked at */
            const int32_t last = first + plan.pass < total ? first + plan.pass : total;
            merge_rows(plan, csr, block, first, last, thread);
            fetch_rows(plan, csr, block, first, last, thread);
            __syncthreads();
            write_tile(plan, block, first, last, thread);
            __syncthreads();
            first = last;
        } while (first < total);
    }
}

/* ---- Plans ------------------------------------------------------------------------------------
 */

/* The matrix that a part is taken from. */
struct pack_origin {
    const gsw_matrix *matrix;
    bool transposed; /* entries (row + step, row) */
};

pack_origin origin_of(const gsw_factor_options *options, const gsw_matrix *matrix,
                      const gsw_matrix *upper, int part) {
    const bool transpose = options->transpose != 0;
    if (options->kind == GSW_IC0) /* symmetric: the upper part is the lower part's mirror image */
        return {matrix, part == 1};
    if (options->kind == GSW_FACTOR_LU)
        return {(part == 1) != transpose ? upper : matrix, transpose};
    return {matrix, transpose};
}

/* Index in shape's couplings of the one with the next larger source than `last`. */
int32_t next_source(const gsw_shape *shape, int32_t last) {
    int32_t next = -1;
    for (int32_t j = 0; j < shape->count; j++) {
        if (shape->source[j] > last && (next < 0 || shape->source[j] < shape->source[next]))
            next = j;
    }
    return next;
}

/* Couplings of the parts, in the order of the columns of a row, and how far they reach. */
void plan_taps(pack_plan *plan, const gsw_tiles *tiles) {
    const gsw_shape *lower = &tiles->part[0], *upper = &tiles->part[1];
    plan->taps = lower->count + 1 + upper->count;
    plan->center = lower->count;
    int32_t last = -1;
    for (int32_t t = 0; t < plan->taps; t++) {
        const int part = t > plan->center;
        const gsw_shape *shape = part ? upper : lower;
        gsw_offset o = {0, 0, 0};
        plan->term_of[t] = (uint8_t)plan->terms;
        if (t == plan->center) {
            last = -1;
        } else {
            const int32_t j = next_source(shape, last);
            last = shape->source[j];
            o = shape->offset[j];
            if (part)
                o = {-o.dx, -o.dy, -o.dz};
            if (part == plan->upper) {
                plan->term_of[t] = (uint8_t)j;
                plan->tap_of[j] = (uint8_t)t;
            }
        }
        const int32_t size[3] = {abs(o.dx), abs(o.dy), abs(o.dz)};
        for (int axis = 0; axis < 3; axis++) {
            if (plan->margin[axis] < size[axis])
                plan->margin[axis] = size[axis];
        }
        plan->tap[t] = {o.dx * tiles->stride[0] + o.dy * tiles->stride[1] + o.dz * tiles->stride[2],
                        (int16_t)o.dx, (int16_t)o.dy, (int16_t)o.dz};
    }
}

/* Everything but run_bits, pass and jobs. */
void plan_part(pack_plan *plan, const gsw_factor *factor, int part) {
    const gsw_packed_view *view = &factor->packed->view[part];
    const gsw_tiles *t = &view->tiles;
    const gsw_factor_options *options = &factor->options;
    memset(plan, 0, sizeof *plan);
    plan->upper = part;
    plan->nx = (int32_t)t->nx;
    plan->ny = (int32_t)t->ny;
    plan->nz = (int32_t)t->nz;
    memcpy(plan->stride, t->stride, sizeof plan->stride);
    plan->lanes_y = t->tile.lanes_y;
    plan->lines_y = t->tile.lines_y;
    plan->lines_z = t->tile.lines_z;
    plan->pad_y = part ? (int32_t)(t->tiles_y * t->tile_y - t->width) : 0;
    plan->pad_z = part ? (int32_t)(t->tiles_z * t->tile_z - t->nz) : 0;
    plan->tile_y = t->tile_y;
    plan->tile_z = t->tile_z;
    plan->shear = t->shear;
    plan->skew_y = t->skew_y;
    plan->skew_z = t->skew_z;
    plan->records = (int32_t)t->records;
    plan->pencils = view->pencils;
    plan->table = view->table;
    plan->values = view->values;
    plan->terms = view->terms;
    plan->members = view->members;
    plan->vector = view->vector;
    plan->diagonal = view->diagonal;
    plan->raw = gsw_eliminates(options->kind);
    plan->scale = view->scale && !plan->raw;
    plan->guard = options->kind == GSW_SSOR;
    plan->counts = part == 0;
    plan->pivot_shift = options->pivot_shift;
    plan->diagonal_factor = plan->scale_factor = 1;
    if (options->kind == GSW_SSOR) {
        plan->diagonal_factor = options->omega * (2 - options->omega);
        plan->scale_factor = options->omega;
    }
    plan->pivots = factor->packed->pivots;
    plan_taps(plan, t);
}

/* Index in the user's stencil arrays of the plan's coupling t. */
int32_t entry_of(const gsw_factor *factor, const pack_plan *plan, const pack_origin *origin,
                 int32_t t) {
    const gsw_tiles *tiles = &factor->packed->view[plan->upper].tiles;
    const int32_t count = origin->matrix->stencil.count;
    if (t == plan->center)
        return origin->matrix->stencil.center;
    const gsw_shape *shape = &tiles->part[t > plan->center];
    int32_t e = -1;
    for (int32_t i = t > plan->center ? plan->center + 1 : 0; i <= t; i++)
        e = shape->source[next_source(shape, e)];
    return origin->transposed ? count - 1 - e : e; /* offsets ascend: the mirrored one */
}

template <typename Value>
void plan_arrays(pack_arrays<Value> *arrays, const gsw_factor *factor, const pack_plan *plan,
                 const pack_origin *origin) {
    memset(arrays, 0, sizeof *arrays);
    arrays->transposed = origin->transposed;
    for (int32_t t = 0; t < plan->taps; t++)
        arrays->values[t] = static_cast<const Value *>(
            origin->matrix->array.values[entry_of(factor, plan, origin, t)]);
}

/* Entries of a matrix that holds couplings first..last-1 wherever they stay in the grid. */
uint64_t entries_of_couplings(const pack_plan *plan, bool transposed, int32_t first, int32_t last) {
    uint64_t entries = 0;
    for (int32_t i = first; i < last; i++) {
        const pack_tap &tap = plan->tap[transposed ? plan->taps - 1 - i : i];
        entries += (uint64_t)(plan->nx - abs(tap.dx)) * (uint64_t)(plan->ny - abs(tap.dy)) *
                   (uint64_t)(plan->nz - abs(tap.dz));
    }
    return entries;
}

/* Guesses from the number of entries which couplings a CSR holds: all, or one part, first the one
 * that is wanted, with or without the diagonal. */
void guess_couplings(const pack_plan *plan, const gsw_csr *matrix, bool transposed, int32_t *first,
                     int32_t *last) {
    const int32_t all = plan->taps, center = transposed ? all - 1 - plan->center : plan->center;
    const int32_t lower[2][2] = {{0, center + 1}, {0, center}};
    const int32_t upper[2][2] = {{center, all}, {center + 1, all}};
    const bool wants_upper = (plan->upper != 0) != transposed;
    *first = 0;
    *last = all;
    if (entries_of_couplings(plan, transposed, 0, all) == (uint64_t)matrix->nonzeros)
        return;
    for (int i = 0; i < 4; i++) {
        const int32_t *range = (i < 2) == wants_upper ? upper[i % 2] : lower[i % 2];
        if (range[0] < range[1] && entries_of_couplings(plan, transposed, range[0], range[1]) ==
                                       (uint64_t)matrix->nonzeros) {
            *first = range[0];
            *last = range[1];
            return;
        }
    }
}

template <typename Index, typename Value>
void plan_csr(pack_csr<Index, Value> *csr, const gsw_factor *factor, const pack_plan *plan,
              const pack_origin *origin) {
    const gsw_csr *matrix = &origin->matrix->csr;
    csr->row_ptr = static_cast<const Index *>(matrix->row_ptr);
    csr->columns = static_cast<const Index *>(matrix->columns);
    csr->values = static_cast<const Value *>(matrix->values);
    csr->nonzeros = matrix->nonzeros;
    csr->base = matrix->base;
    csr->transposed = origin->transposed;
    guess_couplings(plan, matrix, origin->transposed, &csr->first, &csr->last);
    /* The lower part, which is packed first, has checked the columns of whole rows. */
    const gsw_factor_kind kind = factor->options.kind;
    const bool both_from_one = kind == GSW_ILU0 || kind == GSW_DILU || kind == GSW_SSOR;
    csr->check = !(both_from_one && plan->upper && csr->first == 0 && csr->last == plan->taps);
}

/* ---- Launching --------------------------------------------------------------------------------
 */

/* Shared memory that leaves room for several blocks on a multiprocessor, and what a kernel may have
 * without being asked. */
enum { COMFORTABLE_BYTES = 44 * 1024, ANY_BYTES = 48 * 1024 };

/* Records of a run: 1 << these. Gathering wants runs of whole cache lines; the entries of a CSR's
 * rows follow each other anyway. */
enum { GATHER_RUN_BITS = 4, CSR_RUN_BITS = 5, LEAST_RUN_BITS = 3 };

/* Chooses the run's length and how many coefficients are brought at a time; returns the bytes of
 * shared memory. Where all do not fit, gathering brings fewer, and rows of a CSR, which are looked
 * at once for all, make the run shorter. */
template <typename Stored> size_t plan_runs(pack_plan *plan, bool csr_rows) {
    const int32_t total = (int32_t)coefficients_of(*plan), vector = plan->vector;
    plan->run_bits = csr_rows ? CSR_RUN_BITS : GATHER_RUN_BITS;
    while (plan->run_bits > LEAST_RUN_BITS && 1 << (plan->run_bits - 1) >= plan->records)
        plan->run_bits--;
    plan->pass = total;
    while (csr_rows && plan->run_bits > LEAST_RUN_BITS &&
           block_bytes<Stored>(*plan, csr_rows) > COMFORTABLE_BYTES)
        plan->run_bits--;
    for (int32_t passes = 2;
         plan->pass > vector && block_bytes<Stored>(*plan, csr_rows) > COMFORTABLE_BYTES; passes++)
        plan->pass = ((total + passes - 1) / passes + vector - 1) / vector * vector;
    plan->jobs = gsw_ceil_div(plan->records, int64_t{1} << plan->run_bits) * plan->pencils;
    return block_bytes<Stored>(*plan, csr_rows);
}

template <typename Kernel, typename Source>
gsw_status launch(gsw_context *context, Kernel kernel, const pack_plan *plan, const Source *source,
                  size_t bytes) {
    static_assert(sizeof *plan + sizeof *source <= 4096, "what a kernel may be given");
    if (plan->jobs == 0)
        return GSW_SUCCESS;
    if (bytes > ANY_BYTES)
        GSW_TRY(gsw_cuda_check(context,
                               cudaFuncSetAttribute((const void *)kernel,
                                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    (int)bytes),
                               "packing a factor"));
    const int64_t blocks = plan->jobs < BLOCKS_MAX ? plan->jobs : BLOCKS_MAX;
    kernel<<<(unsigned)blocks, THREADS, bytes, gsw_cuda_of(context)->stream>>>(*plan, *source);
    return gsw_cuda_check_launch(context, "packing a factor");
}

template <typename Stored, typename Value>
gsw_status launch_arrays(gsw_context *context, const gsw_factor *factor, pack_plan *plan,
                         const pack_origin *origin) {
    pack_arrays<Value> arrays;
    plan_arrays(&arrays, factor, plan, origin);
    const size_t bytes = plan_runs<Stored>(plan, false);
    return launch(context, pack_gathered<Stored, pack_arrays<Value>>, plan, &arrays, bytes);
}

template <typename Stored, typename Index, typename Value>
gsw_status launch_csr(gsw_context *context, const gsw_factor *factor, pack_plan *plan,
                      const pack_origin *origin) {
    pack_csr<Index, Value> csr;
    plan_csr(&csr, factor, plan, origin);
    if (origin->transposed) {
        const size_t bytes = plan_runs<Stored>(plan, false);
        return launch(context, pack_gathered<Stored, pack_csr<Index, Value>>, plan, &csr, bytes);
    }
    const size_t bytes = plan_runs<Stored>(plan, true);
    return launch(context, pack_csr_rows<Stored, pack_csr<Index, Value>>, plan, &csr, bytes);
}

template <typename Stored>
gsw_status launch_part(gsw_context *context, const gsw_factor *factor, pack_plan *plan,
                       const pack_origin *origin) {
    const gsw_matrix *matrix = origin->matrix;
    if (matrix->format == GSW_FORMAT_STENCIL)
        return matrix->array.value_type == GSW_F64
                   ? launch_arrays<Stored, double>(context, factor, plan, origin)
                   : launch_arrays<Stored, float>(context, factor, plan, origin);
    if (matrix->csr.index_type == GSW_I32)
        return matrix->csr.value_type == GSW_F64
                   ? launch_csr<Stored, int32_t, double>(context, factor, plan, origin)
                   : launch_csr<Stored, int32_t, float>(context, factor, plan, origin);
    return matrix->csr.value_type == GSW_F64
               ? launch_csr<Stored, int64_t, double>(context, factor, plan, origin)
               : launch_csr<Stored, int64_t, float>(context, factor, plan, origin);
}

/* ---- Unpacking --------------------------------------------------------------------------------
 */

constexpr int64_t PIECE_BYTES = int64_t{16} << 20;

double value_at(const gsw_factor *factor, const void *values, int64_t i) {
    return factor->options.factor_type == GSW_F32 ? (double)static_cast<const float *>(values)[i]
                                                  : static_cast<const double *>(values)[i];
}

/* Scatters one record: `values` is its first value. */
void unpack_record(const gsw_factor *factor, const gsw_packed_view *view, const gsw_pencil *pencil,
                   int64_t record, const void *values, int64_t first, double *const *arrays) {
    const gsw_tiles *t = &view->tiles;
    const gsw_shape *shape = &t->part[view->upper];
    for (int32_t line = 0; line < gsw_tile_lines(t); line++) {
        const int32_t ly = line % t->tile_y, lz = line / t->tile_y;
        const gsw_tile_line at =
            gsw_tile_line_of(t, (int)view->upper, pencil->j, pencil->k, ly, lz);
        const int64_t shift = ((int64_t)t->skew_y * ly + (int64_t)t->skew_z * lz) % t->records;
        const int64_t x = (record - shift + t->records) % t->records;
        if (!at.inside || x >= t->nx)
            continue;
        const int64_t mirrored = at.row + x * t->stride[0];
        const int64_t row = view->upper ? t->points - 1 - mirrored : mirrored;
        const int32_t member = gsw_tile_member(t, ly, lz), lane = gsw_tile_lane(t, ly, lz);
        double *diagonal = &arrays[factor->stencil.center][row];
        *diagonal = 1;
        for (int32_t term = 0; term < view->terms + view->diagonal; term++) {
            double *to = term < view->terms ? &arrays[shape->source[term]][row] : diagonal;
            *to = value_at(factor, values,
                           first + gsw_packed_value(view->terms, view->members, view->vector, term,
                                                    member, lane));
        }
    }
}

/* ---- Jacobi -----------------------------------------------------------------------------------
 */

struct jacobi_plan {
    int64_t points;
    double pivot_shift;
    gsw_cuda_pivots *pivots;
};

template <typename Value> struct jacobi_array {
    const Value *values; /* NULL: zeros */

    __host__ __device__ double at(const jacobi_plan &, int64_t row) const {
        return values ? (double)pack_load(values + row) : 0;
    }
};

template <typename Index, typename Value> struct jacobi_csr {
    const Index *row_ptr;
    const Index *columns;
    const Value *values;
    int64_t nonzeros;
    int32_t base;

    /* Reads the middle of the row first, where full rows have the diagonal. */
    __host__ __device__ double at(const jacobi_plan &plan, int64_t row) const {
        const int64_t begin = (int64_t)pack_load(row_ptr + row) - base;
        const int64_t end = (int64_t)pack_load(row_ptr + row + 1) - base;
        if (begin < 0 || end < begin || end > nonzeros) {
            pack_lower(&plan.pivots->misfit, row);
            return 0;
        }
        const int64_t middle = begin + (end - begin) / 2;
        if (middle < end && (int64_t)pack_load(columns + middle) - base == row)
            return (double)pack_load(values + middle);
        for (int64_t k = begin; k < end; k++) {
            if ((int64_t)pack_load(columns + k) - base == row)
                return (double)pack_load(values + k);
        }
        return 0;
    }
};

template <typename Source>
GSW_HD double jacobi_reciprocal(const jacobi_plan &plan, const Source &source, int64_t row) {
    double d = source.at(plan, row);
    const double size = fabs(d);
    if (!(size >= DBL_MIN && size <= DBL_MAX)) {
        if (plan.pivot_shift > 0) {
            d = d < 0 ? -plan.pivot_shift : plan.pivot_shift;
            pack_count(&plan.pivots->shifted);
        } else {
            pack_lower(&plan.pivots->bad, row);
        }
    }
    return 1 / d;
}

template <typename Stored, typename Source>
__global__ void __launch_bounds__(THREADS)
    fill_reciprocal(const jacobi_plan plan, const Source source, Stored *reciprocal) {
    for (int64_t row = int64_t{blockIdx.x} * THREADS + threadIdx.x; row < plan.points;
         row += int64_t{gridDim.x} * THREADS)
        reciprocal[row] = (Stored)jacobi_reciprocal(plan, source, row);
}

unsigned blocks_for(int64_t n, int per_block) {
    const int64_t blocks = gsw_ceil_div(n, per_block);
    return (unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
}

template <typename Source>
gsw_status launch_fill(gsw_context *context, gsw_factor *factor, const Source &source) {
    const jacobi_plan plan = {factor->points, factor->options.pivot_shift, factor->packed->pivots};
    cudaStream_t stream = gsw_cuda_of(context)->stream;
    void *reciprocal = factor->packed->reciprocal;
    const unsigned blocks = blocks_for(plan.points, THREADS);
    if (factor->options.factor_type == GSW_F64)
        fill_reciprocal<<<blocks, THREADS, 0, stream>>>(plan, source,
                                                        static_cast<double *>(reciprocal));
    else
        fill_reciprocal<<<blocks, THREADS, 0, stream>>>(plan, source,
                                                        static_cast<float *>(reciprocal));
    return gsw_cuda_check_launch(context, "the reciprocal diagonal");
}

template <typename Index, typename Value>
gsw_status launch_fill_csr(gsw_context *context, gsw_factor *factor, const gsw_csr *csr) {
    const jacobi_csr<Index, Value> source = {
        static_cast<const Index *>(csr->row_ptr), static_cast<const Index *>(csr->columns),
        static_cast<const Value *>(csr->values), csr->nonzeros, csr->base};
    return launch_fill(context, factor, source);
}

/* x = b / diagonal for every right-hand side; x may be b. */
template <typename Value, typename Stored>
__global__ void __launch_bounds__(THREADS)
    apply_reciprocal(int64_t points, int64_t count, const Stored *__restrict__ reciprocal,
                     const Value *b, int64_t ldb, Value *x, int64_t ldx) {
    constexpr int64_t TILE = THREADS * BATCH;
    for (int64_t tile = int64_t{blockIdx.x} * TILE; tile < points;
         tile += int64_t{gridDim.x} * TILE) {
        const int64_t first = tile + threadIdx.x;
        Value scale[BATCH], value[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const int64_t i = first + k * THREADS;
            scale[k] = i < points ? (Value)reciprocal[i] : Value{0};
        }
        for (int64_t r = 0; r < count; r++) {
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                const int64_t i = first + k * THREADS;
                value[k] = i < points ? b[r * ldb + i] : Value{0};
            }
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                const int64_t i = first + k * THREADS;
                if (i < points)
                    x[r * ldx + i] = value[k] * scale[k];
            }
        }
    }
}

template <typename Value, typename Stored>
gsw_status launch_apply(gsw_context *context, gsw_factor *factor, int64_t count, const void *b,
                        int64_t ldb, void *x, int64_t ldx) {
    apply_reciprocal<Value, Stored>
        <<<blocks_for(factor->points, THREADS * BATCH), THREADS, 0, gsw_cuda_of(context)->stream>>>(
            factor->points, count, static_cast<const Stored *>(factor->packed->reciprocal),
            static_cast<const Value *>(b), ldb, static_cast<Value *>(x), ldx);
    return gsw_cuda_check_launch(context, "scaling by the reciprocal diagonal");
}

} // namespace

gsw_status gsw_cuda_pack(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                         const gsw_matrix *upper) {
    for (int part = 0; part < 2; part++) {
        if (!factor->packed->layout.present[part])
            continue;
        pack_plan plan;
        plan_part(&plan, factor, part);
        const pack_origin origin = origin_of(&factor->options, matrix, upper, part);
        if (factor->options.factor_type == GSW_F64)
            GSW_TRY(launch_part<double>(context, factor, &plan, &origin));
        else
            GSW_TRY(launch_part<float>(context, factor, &plan, &origin));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_cuda_unpack(gsw_context *context, const gsw_factor *factor, int which,
                           double *const *arrays) {
    const gsw_packed_view *view = &factor->packed->view[factor->packed->layout.upper[which]];
    const int64_t values = gsw_record_values(view), records = view->tiles.records;
    const int64_t bytes = values * (int64_t)gsw_dtype_size(factor->options.factor_type);
    const int64_t total = view->pencils * records;
    int64_t piece = bytes > 0 ? PIECE_BYTES / bytes : total;
    piece = piece < 1 ? 1 : piece > total ? total : piece;
    void *table = NULL, *buffer = NULL;
    gsw_status status;
    GSW_TRY_GOTO(gsw_alloc(context, (size_t)view->pencils, sizeof(gsw_pencil),
                           "the table of pencils", &table),
                 cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, (size_t)piece, (size_t)bytes, "packed records", &buffer),
                 cleanup);
    GSW_TRY_GOTO(context->ops->download(context, table, view->table,
                                        (size_t)view->pencils * sizeof(gsw_pencil)),
                 cleanup);
    for (int64_t first = 0; first < total; first += piece) {
        const int64_t count = total - first < piece ? total - first : piece;
        GSW_TRY_GOTO(context->ops->download(context, buffer,
                                            static_cast<const char *>(view->values) + first * bytes,
                                            (size_t)(count * bytes)),
                     cleanup);
        for (int64_t i = 0; i < count; i++)
            unpack_record(factor, view,
                          static_cast<const gsw_pencil *>(table) + (first + i) / records,
                          (first + i) % records, buffer, i * values, arrays);
    }
    status = GSW_SUCCESS;
cleanup:
    free(buffer);
    free(table);
    return status;
}

gsw_status gsw_cuda_jacobi_fill(gsw_context *context, gsw_factor *factor,
                                const gsw_matrix *matrix) {
    if (matrix->format == GSW_FORMAT_STENCIL) {
        const void *values = matrix->array.values[matrix->stencil.center];
        if (matrix->array.value_type == GSW_F64)
            return launch_fill(context, factor,
                               jacobi_array<double>{static_cast<const double *>(values)});
        return launch_fill(context, factor,
                           jacobi_array<float>{static_cast<const float *>(values)});
    }
    const gsw_csr *csr = &matrix->csr;
    if (csr->index_type == GSW_I32)
        return csr->value_type == GSW_F64 ? launch_fill_csr<int32_t, double>(context, factor, csr)
                                          : launch_fill_csr<int32_t, float>(context, factor, csr);
    return csr->value_type == GSW_F64 ? launch_fill_csr<int64_t, double>(context, factor, csr)
                                      : launch_fill_csr<int64_t, float>(context, factor, csr);
}

gsw_status gsw_cuda_jacobi_apply(gsw_context *context, gsw_factor *factor, int64_t count,
                                 const void *b, int64_t ldb, void *x, int64_t ldx) {
    if (factor->options.vector_type == GSW_F32)
        return launch_apply<float, float>(context, factor, count, b, ldb, x, ldx);
    if (factor->options.factor_type == GSW_F32)
        return launch_apply<double, float>(context, factor, count, b, ldb, x, ldx);
    return launch_apply<double, double>(context, factor, count, b, ldb, x, ldx);
}
