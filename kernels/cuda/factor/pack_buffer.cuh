/* pack_buffer.cuh: the buffer in shared memory through which a block packs a run of records: where
 * its values lie, diagonals, and writing whole records from it. pack.cu explains the order. */
#ifndef GSW_CUDA_PACK_BUFFER_CUH
#define GSW_CUDA_PACK_BUFFER_CUH

#include "pack_rows.cuh"

namespace {

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / GSW_TILE_LANES;
constexpr int BATCH = 4; /* loads of a thread that are under way together */

/* ---- The buffer of a block ----------------------------------------------------------------------
 */

/* A line of the pencil. Its point x is row `row` + x * stride[0], not mirrored. */
struct pack_line {
    int64_t row;
    int32_t y, z;
    int32_t shift; /* record of the first point in the part's order */
    int32_t turn;  /* shift, modulo the run's length */
    int32_t inside;
    int32_t deep; /* couplings stay in the grid, except along x */
};

/* A row of a CSR: its first entry, and which couplings its entries are. */
struct pack_row {
    int64_t row;
    int64_t first;
    uint64_t mask;     /* 0: no point */
    int32_t place;     /* in the buffer, for coefficient 0; -1: none */
    int32_t irregular; /* the columns have to be merged with the stencil */
};

/* Shared memory of a block, and the run of records that it fills. */
template <typename Value> struct pack_block {
    pack_line *line;      /* [member][lane] */
    double *diagonal;     /* [member][lane][record]: what is stored, or its reciprocal */
    Value *buffer;        /* [coefficient][lane][record] */
    int64_t *step;        /* CSR: steps of the plan's couplings */
    pack_row *row;        /* CSR: [member][lane][record] in the order of reading */
    int64_t ticket;       /* of the pencil */
    int32_t first;        /* record of the run */
    int32_t count;        /* records in the run: fewer than 1 << run_bits in the last one */
    int32_t pitch;        /* of a lane in `diagonal` and `buffer`: odd, against bank conflicts */
    int32_t buffer_pitch; /* of a coefficient in `buffer` */
};

GSW_HD int32_t lines_of(const pack_plan &plan) {
    return plan.members * GSW_TILE_LANES;
}

__device__ int32_t lane_pitch(const pack_plan &plan) {
    return (1 << plan.run_bits) + 1;
}

GSW_HD int64_t coefficients_of(const pack_plan &plan) {
    return (int64_t)plan.terms * plan.members;
}

/* Bytes of shared memory. */
template <typename Value> size_t block_bytes(const pack_plan &plan, bool csr_rows) {
    const size_t lines = (size_t)lines_of(plan), run = (size_t)1 << plan.run_bits;
    size_t bytes = lines * sizeof(pack_line);
    if (plan.diagonal || plan.scale)
        bytes += lines * (run + 1) * sizeof(double);
    if (csr_rows)
        bytes += (size_t)plan.taps * sizeof(int64_t) + lines * run * sizeof(pack_row);
    return bytes + (size_t)plan.pass * (GSW_TILE_LANES * (run + 1) + 1) * sizeof(Value);
}

/* Divides the shared memory, and takes a job. */
template <typename Value>
__device__ pack_block<Value> block_of(const pack_plan &plan, void *shared, bool csr_rows,
                                      uint32_t job) {
    const int32_t lines = lines_of(plan), run = 1 << plan.run_bits;
    const uint32_t ticket = job / plan.runs;
    pack_block<Value> block;
    block.ticket = ticket;
    block.first = (int32_t)(job - ticket * plan.runs) << plan.run_bits;
    block.count = plan.records - block.first < run ? plan.records - block.first : run;
    block.pitch = lane_pitch(plan);
    block.buffer_pitch = GSW_TILE_LANES * block.pitch + 1;
    block.line = (pack_line *)shared;
    block.diagonal = (double *)(block.line + lines);
    block.step = (int64_t *)block.diagonal;
    if (plan.diagonal || plan.scale)
        block.step += lines * block.pitch;
    block.row = (pack_row *)(block.step + (csr_rows ? plan.taps : 0));
    block.buffer = (Value *)(block.row + (csr_rows ? lines * run : 0));
    return block;
}

/* A line of a pencil, except `turn`. */
__device__ pack_line line_of(const pack_plan &plan, const gsw_pencil &pencil, int32_t lane,
                             int32_t member) {
    const int32_t ly = (lane & (plan.lanes_y - 1)) * plan.lines_y + (plan.lines_y - 1) * member;
    const int32_t lz = (lane >> plan.lanes_bits) * plan.lines_z + (plan.lines_z - 1) * member;
    const int64_t z = (int64_t)pencil.k * plan.tile_z - plan.pad_z + lz;
    const int64_t y = (int64_t)pencil.j * plan.tile_y - plan.pad_y + ly - plan.shear * z;
    pack_line line;
    line.inside = y >= 0 && y < plan.ny && z >= 0 && z < plan.nz;
    line.y = (int32_t)(plan.upper ? plan.ny - 1 - y : y);
    line.z = (int32_t)(plan.upper ? plan.nz - 1 - z : z);
    line.row = line.y * plan.stride[1] + line.z * plan.stride[2];
    line.deep = pack_is_deep_along(plan, 1, line.y, plan.ny) &&
                pack_is_deep_along(plan, 2, line.z, plan.nz);
    line.shift = (plan.skew_y * ly + plan.skew_z * lz) % plan.records;
    line.turn = 0;
    return line;
}

/* The lines of the pencil: for thread `thread` of the block. */
template <typename Value>
__device__ void place_lines(const pack_plan &plan, const pack_block<Value> &block, int32_t thread) {
    const gsw_pencil pencil = plan.table[block.ticket];
    for (int32_t i = thread; i < lines_of(plan); i += THREADS) {
        block.line[i] = line_of(plan, pencil, i % GSW_TILE_LANES, i / GSW_TILE_LANES);
        block.line[i].turn = block.line[i].shift % block.count;
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

/* Point i of one member's lines, in the order of reading: neighbouring i are neighbouring points in
 * memory. */
template <typename Value>
__device__ pack_place place_of(const pack_plan &plan, const pack_block<Value> &block,
                               int32_t member, int32_t i) {
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
    place.point.deep = line.deep && pack_is_deep_along(plan, 0, place.point.x, plan.nx);
    place.point.row = line.row + place.point.x * plan.stride[0];
    return place;
}

/* Where a value lies in the buffer, for coefficient 0. */
template <typename Value>
__device__ int32_t buffer_place(const pack_block<Value> &block, const pack_place &place) {
    return place.lane * block.pitch + place.record;
}

/* Where the diagonal of a point lies. */
template <typename Value>
__device__ int32_t diagonal_place(const pack_block<Value> &block, int32_t member, int32_t place) {
    return member * GSW_TILE_LANES * block.pitch + place;
}

/* What the coefficients of a point are multiplied by, if the part is scaled. */
template <typename Value>
__device__ double scale_of(const pack_plan &plan, const pack_block<Value> &block, int32_t member,
                           int32_t place) {
    if (!plan.scale)
        return 1;
    return plan.scale_factor * block.diagonal[diagonal_place(block, member, place)];
}

/* ---- Writing ----------------------------------------------------------------------------------
 */

template <typename Stored> struct alignas(16) pack_vector { Stored value[16 / sizeof(Stored)]; };

template <typename Stored, typename Value>
__device__ Stored *record_of(const pack_plan &plan, const pack_block<Value> &block,
                             int32_t record) {
    const int64_t values =
        (coefficients_of(plan) + (int64_t)plan.diagonal * plan.members) * GSW_TILE_LANES;
    return (Stored *)plan.values + (block.ticket * plan.records + block.first + record) * values;
}

/* A coefficient in the form in which it is stored: scaled, if the part is scaled. Zero stays zero
 * with any diagonal. */
__device__ double scaled_value(const pack_plan &plan, double value, double scale) {
    const double scaled = !plan.scale ? value : value != 0 ? value * scale : 0;
    if (plan.bounded && !(fabs(scaled) <= DBL_MAX))
        plan.pivots->unfit = 1;
    return scaled;
}

/* Reports the row of a coefficient that fp32 does not hold. */
template <typename Value>
__device__ void note_beyond(const pack_plan &plan, const pack_block<Value> &block, int32_t record,
                            int32_t lane, int32_t member, double value) {
    if (!gsw_is_beyond_f32(value))
        return;
    const pack_line &line = block.line[member * GSW_TILE_LANES + lane];
    const int32_t step = block.first + record - line.shift;
    const int32_t x = step < 0 ? step + plan.records : step;
    note_lowest(&plan.pivots->beyond,
                line.row + (plan.upper ? plan.nx - 1 - x : x) * plan.stride[0]);
}

/* Writes coefficients first..last-1 of the run's records from the buffer, one warp per record: see
 * gsw_packed_value(). `first` is a multiple of `vector`. */
template <typename Stored, typename Value>
__device__ void write_buffer(const pack_plan &plan, const pack_block<Value> &block, int32_t first,
                             int32_t last, int32_t thread) {
    constexpr int32_t vector = 16 / (int32_t)sizeof(Stored);
    const int32_t whole = (int32_t)coefficients_of(plan) / vector * vector;
    const int32_t lane = thread % GSW_TILE_LANES, odd = plan.members - 1;
    for (int32_t record = thread / GSW_TILE_LANES; record < block.count; record += WARPS) {
        Stored *to = record_of<Stored>(plan, block, record);
        const int32_t place = lane * block.pitch + record;
        const Value *from = block.buffer + place;
        const double scale = scale_of(plan, block, 0, place);
        const double odd_scale = scale_of(plan, block, odd, place); /* of odd v: the other member */
        const auto value = [&](int32_t v) {
            const double scaled = scaled_value(plan, (double)from[(v - first) * block.buffer_pitch],
                                               v & odd ? odd_scale : scale);
            if (sizeof(Stored) == sizeof(float) && plan.narrows)
                note_beyond(plan, block, record, lane, v & odd, scaled);
            return (Stored)scaled;
        };
        int32_t v = first;
        for (; v < last && v < whole; v += vector) {
            pack_vector<Stored> out;
            for (int32_t k = 0; k < vector; k++)
                out.value[k] = value(v + k);
            ((pack_vector<Stored> *)to)[v / vector * GSW_TILE_LANES + lane] = out;
        }
        for (; v < last; v++)
            to[v * GSW_TILE_LANES + lane] = value(v);
    }
}

/* Writes the (reciprocal) diagonals of the run's records. */
template <typename Stored, typename Value>
__device__ void write_diagonal(const pack_plan &plan, const pack_block<Value> &block,
                               int32_t thread) {
    const double factor = plan.raw ? 1 : plan.diagonal_factor;
    for (int32_t record = thread / GSW_TILE_LANES; record < block.count; record += WARPS) {
        Stored *to =
            record_of<Stored>(plan, block, record) + coefficients_of(plan) * GSW_TILE_LANES;
        for (int32_t i = thread % GSW_TILE_LANES; i < lines_of(plan); i += GSW_TILE_LANES) {
            const int32_t lane = i >> (plan.members - 1), member = i & (plan.members - 1);
            const int32_t line = member * GSW_TILE_LANES + lane;
            to[i] = (Stored)(factor * block.diagonal[line * block.pitch + record]);
        }
    }
}

} // namespace

#endif
