/* access.cuh: loads and stores with a memory order, a scope and a cache policy.
 *
 * The memory order is part of a function's name; the scope is its template parameter. Values have 4
 * or 8 bytes. At block scope they lie in shared memory, at the other scopes in global memory. The
 * functions for several values side by side never order other accesses. */
#ifndef GSW_CUDA_ACCESS_CUH
#define GSW_CUDA_ACCESS_CUH

#include <stdint.h>
#include <string.h>

namespace {

/* The threads that see an access in its order: those of the block, of the device, of all devices
 * and the host. */
enum class scope { block, device, system };

__device__ __forceinline__ uint32_t shared_address(const void *pointer) {
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

/* The unsigned integer of so many bytes. */
template <int bytes> struct word_of;
template <> struct word_of<4> { using type = uint32_t; };
template <> struct word_of<8> { using type = uint64_t; };

template <typename Value, typename Word> __device__ __forceinline__ Value value_of(Word word) {
    static_assert(sizeof(Value) == sizeof(Word), "a value has the bits of one word");
    Value value;
    memcpy(&value, &word, sizeof value);
    return value;
}

template <typename Value>
__device__ __forceinline__ typename word_of<sizeof(Value)>::type bits_of(Value value) {
    typename word_of<sizeof(Value)>::type word;
    memcpy(&word, &value, sizeof word);
    return word;
}

/* ---- One value ----------------------------------------------------------------------------------
 */

/* `suffix` is the type of the instruction, `letter` the kind of its register. */
#define ACCESS_LOAD_WORD(order, suffix, letter)                                                    \
    if constexpr (at == scope::block)                                                              \
        asm volatile("ld." order ".cta.shared." suffix " %0, [%1];"                                \
                     : "=" letter(word)                                                            \
                     : "r"(shared_address(from))                                                   \
                     : "memory");                                                                  \
    else if constexpr (at == scope::device)                                                        \
        asm volatile("ld." order ".gpu.global." suffix " %0, [%1];"                                \
                     : "=" letter(word)                                                            \
                     : "l"(from)                                                                   \
                     : "memory");                                                                  \
    else                                                                                           \
        asm volatile("ld." order ".sys.global." suffix " %0, [%1];"                                \
                     : "=" letter(word)                                                            \
                     : "l"(from)                                                                   \
                     : "memory");

#define ACCESS_LOAD(name, order)                                                                   \
    template <scope at, typename Value> __device__ __forceinline__ Value name(const Value *from) { \
        typename word_of<sizeof(Value)>::type word;                                                \
        if constexpr (sizeof(Value) == 4) {                                                        \
            ACCESS_LOAD_WORD(order, "b32", "r")                                                    \
        } else {                                                                                   \
            ACCESS_LOAD_WORD(order, "b64", "l")                                                    \
        }                                                                                          \
        return value_of<Value>(word);                                                              \
    }

#define ACCESS_STORE_WORD(order, suffix, letter)                                                   \
    if constexpr (at == scope::block)                                                              \
        asm volatile("st." order ".cta.shared." suffix " [%0], %1;" ::"r"(shared_address(to)),     \
                     letter(bits_of(value))                                                        \
                     : "memory");                                                                  \
    else if constexpr (at == scope::device)                                                        \
        asm volatile("st." order ".gpu.global." suffix " [%0], %1;" ::"l"(to),                     \
                     letter(bits_of(value))                                                        \
                     : "memory");                                                                  \
    else                                                                                           \
        asm volatile("st." order ".sys.global." suffix " [%0], %1;" ::"l"(to),                     \
                     letter(bits_of(value))                                                        \
                     : "memory");

#define ACCESS_STORE(name, order)                                                                  \
    template <scope at, typename Value>                                                            \
    __device__ __forceinline__ void name(Value *to, Value value) {                                 \
        if constexpr (sizeof(Value) == 4) {                                                        \
            ACCESS_STORE_WORD(order, "b32", "r")                                                   \
        } else {                                                                                   \
            ACCESS_STORE_WORD(order, "b64", "l")                                                   \
        }                                                                                          \
    }

ACCESS_LOAD(load_acquire, "acquire")
ACCESS_STORE(store_release, "release")
/* Relaxed accesses are only atomic: for values that publish no other data. */
ACCESS_LOAD(load_relaxed, "relaxed")
ACCESS_STORE(store_relaxed, "relaxed")

#undef ACCESS_STORE
#undef ACCESS_STORE_WORD
#undef ACCESS_LOAD
#undef ACCESS_LOAD_WORD

/* After relaxed loads: whatever was released before the values that they returned is visible. */
template <scope at> __device__ __forceinline__ void acquire_fence(void) {
    if constexpr (at == scope::block)
        asm volatile("fence.acq_rel.cta;" ::: "memory");
    else if constexpr (at == scope::device)
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
    else
        asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* Raises a counter in global memory. It may have several writers, whose values may arrive in any
 * order. */
template <scope at> __device__ __forceinline__ void raise_release(int64_t *counter, int64_t value) {
    static_assert(at != scope::block, "the counter is in global memory");
    if constexpr (at == scope::device)
        asm volatile("red.release.gpu.global.max.s64 [%0], %1;" ::"l"(counter), "l"(value)
                     : "memory");
    else
        asm volatile("red.release.sys.global.max.s64 [%0], %1;" ::"l"(counter), "l"(value)
                     : "memory");
}

/* ---- Cache policies -----------------------------------------------------------------------------
 *
 * What the L2 cache keeps: it drops streams first, and values that another block will read again
 * last. Before compute capability 8.0 there are no policies, and a policy has no effect. */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

#define ACCESS_HINT             ".L2::cache_hint"
#define ACCESS_POLICY(register) ", " register

__device__ __forceinline__ uint64_t evict_first(void) {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ uint64_t evict_last(void) {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

#else

#define ACCESS_HINT             ""
#define ACCESS_POLICY(register) ""

__device__ __forceinline__ uint64_t evict_last(void) {
    return 0;
}

#endif

enum { L2_LINE = 128 }; /* bytes */

/* Brings the line of an address of global memory into the L2 cache. */
__device__ __forceinline__ void prefetch_to_l2(const void *global) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
}

/* ---- n values side by side ----------------------------------------------------------------------
 *
 * load_shared, store_shared   volatile accesses to shared memory, which take effect in the order of
 *                             the thread's program
 * load_kept, store_kept       relaxed accesses to global memory with a cache policy
 * store_kept_if               the same, where `wanted`, in the scope of the device
 * load_global                 loads from global memory, in the order of the thread's program
 * store_now_if                volatile stores to global memory, which the compiler does not put
 *                             off; `wanted` is a predicate, not a branch */
#define ACCESS_LOADS(name, From, instruction, place, Real, type, letter)                           \
    template <int n> __device__ __forceinline__ void name(Real *v, From from) {                    \
        if constexpr (n == 4)                                                                      \
            asm volatile(instruction ".v4." type " {%0, %1, %2, %3}, [%4];"                        \
                         : "=" letter(v[0]), "=" letter(v[1]), "=" letter(v[2]), "=" letter(v[3])  \
                         : place(from));                                                           \
        else if constexpr (n == 2)                                                                 \
            asm volatile(instruction ".v2." type " {%0, %1}, [%2];"                                \
                         : "=" letter(v[0]), "=" letter(v[1])                                      \
                         : place(from));                                                           \
        else                                                                                       \
            asm volatile(instruction "." type " %0, [%1];" : "=" letter(v[0]) : place(from));      \
    }

#define ACCESS_SHARED(Real, type, letter)                                                          \
    ACCESS_LOADS(load_shared, uint32_t, "ld.volatile.shared", "r", Real, type, letter)             \
    template <int n> __device__ __forceinline__ void store_shared(uint32_t to, const Real *v) {    \
        if constexpr (n == 2)                                                                      \
            asm volatile("st.volatile.shared.v2." type " [%0], {%1, %2};" ::"r"(to), letter(v[0]), \
                         letter(v[1])                                                              \
                         : "memory");                                                              \
        else                                                                                       \
            asm volatile("st.volatile.shared." type " [%0], %1;" ::"r"(to), letter(v[0])           \
                         : "memory");                                                              \
    }

#define ACCESS_KEPT_LOAD(type, letter, level)                                                      \
    if constexpr (n == 2)                                                                          \
        asm volatile("ld.relaxed." level ".global" ACCESS_HINT ".v2." type                         \
                     " {%0, %1}, [%2]" ACCESS_POLICY("%3") ";"                                     \
                     : "=" letter(v[0]), "=" letter(v[1])                                          \
                     : "l"(from), "l"(policy));                                                    \
    else                                                                                           \
        asm volatile("ld.relaxed." level ".global" ACCESS_HINT "." type                            \
                     " %0, [%1]" ACCESS_POLICY("%2") ";"                                           \
                     : "=" letter(v[0])                                                            \
                     : "l"(from), "l"(policy));

#define ACCESS_KEPT_STORE(type, letter, level)                                                     \
    if constexpr (n == 2)                                                                          \
        asm volatile("st.relaxed." level ".global" ACCESS_HINT ".v2." type                         \
                     " [%0], {%1, %2}" ACCESS_POLICY("%3") ";" ::"l"(to),                          \
                     letter(v[0]), letter(v[1]), "l"(policy)                                       \
                     : "memory");                                                                  \
    else                                                                                           \
        asm volatile("st.relaxed." level ".global" ACCESS_HINT "." type                            \
                     " [%0], %1" ACCESS_POLICY("%2") ";" ::"l"(to),                                \
                     letter(v[0]), "l"(policy)                                                     \
                     : "memory");

#define ACCESS_STORE_IF(instruction, type, letter, policy_of_2, policy_of_1, ...)                  \
    if constexpr (n == 2)                                                                          \
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\t"                             \
                     "@p " instruction ".v2." type " [%0], {%1, %2}" policy_of_2                   \
                     ";\n\t}" ::"l"(to),                                                           \
                     letter(v[0]), letter(v[1]), "r"((uint32_t)wanted)__VA_OPT__(, ) __VA_ARGS__); \
    else                                                                                           \
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %2, 0;\n\t"                             \
                     "@p " instruction "." type " [%0], %1" policy_of_1 ";\n\t}" ::"l"(to),        \
                     letter(v[0]), "r"((uint32_t)wanted)__VA_OPT__(, ) __VA_ARGS__);

#define ACCESS_GLOBAL(Real, type, letter)                                                          \
    ACCESS_LOADS(load_global, const Real *, "ld.global", "l", Real, type, letter)                  \
    template <scope at, int n>                                                                     \
    __device__ __forceinline__ void load_kept(Real *v, const Real *from, uint64_t policy) {        \
        static_assert(at != scope::block, "the values are in global memory");                      \
        if constexpr (at == scope::device) {                                                       \
            ACCESS_KEPT_LOAD(type, letter, "gpu")                                                  \
        } else {                                                                                   \
            ACCESS_KEPT_LOAD(type, letter, "sys")                                                  \
        }                                                                                          \
    }                                                                                              \
    template <scope at, int n>                                                                     \
    __device__ __forceinline__ void store_kept(Real *to, const Real *v, uint64_t policy) {         \
        static_assert(at != scope::block, "the values are in global memory");                      \
        if constexpr (at == scope::device) {                                                       \
            ACCESS_KEPT_STORE(type, letter, "gpu")                                                 \
        } else {                                                                                   \
            ACCESS_KEPT_STORE(type, letter, "sys")                                                 \
        }                                                                                          \
    }                                                                                              \
    template <int n>                                                                               \
    __device__ __forceinline__ void store_now_if(bool wanted, Real *to, const Real *v) {           \
        ACCESS_STORE_IF("st.volatile.global", type, letter, "", "")                                \
    }                                                                                              \
    template <int n>                                                                               \
    __device__ __forceinline__ void store_kept_if(bool wanted, Real *to, const Real *v,            \
                                                  uint64_t policy) {                               \
        ACCESS_STORE_IF("st.relaxed.gpu.global" ACCESS_HINT, type, letter, ACCESS_POLICY("%4"),    \
                        ACCESS_POLICY("%3"), "l"(policy))                                          \
    }

ACCESS_SHARED(double, "f64", "d")
ACCESS_SHARED(float, "f32", "f")
ACCESS_GLOBAL(double, "f64", "d")
ACCESS_GLOBAL(float, "f32", "f")

#undef ACCESS_GLOBAL
#undef ACCESS_STORE_IF
#undef ACCESS_KEPT_STORE
#undef ACCESS_KEPT_LOAD
#undef ACCESS_SHARED
#undef ACCESS_LOADS
#undef ACCESS_POLICY
#undef ACCESS_HINT

} // namespace

#endif
