// Shared by all kernels.
//
// Every number that Rust and OpenCL C share comes in the header of the program (kernels/device/src/header.rs):
//   LSIZE                 work-items in a group: 1 on CPU devices, where the compiler vectorises the inner
//                         loops, and a few warps on GPUs
//   STRIP                 column pairs that a work-item of the transform writes on a processor
//   BLOCK_LSIZE           the same for kernels that code blocks
//   SIDE                  side of a block of coefficients
//   BOUNDARY              SYMMETRIC, PERIODIC or ZERO
//   ALPHA BETA GAMMA DELTA KAPPA KAPPA_INVERSE   lifting coefficients of the CDF 9/7 and its scaling
// Results equal those of the Rust reference to the bit: each fused multiply-add is written as fma(), nothing
// else may be fused, and the order of operations is the reference's.

#pragma OPENCL FP_CONTRACT OFF

#define GROUP __attribute__((reqd_work_group_size(LSIZE, 1, 1)))
#define EACH(i, from, to) (int i = (from) + (int)get_local_id(0); i < (to); i += LSIZE)
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
// For functions whose arguments live in registers only if they are inlined.
#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))

// The same for kernels that work on blocks of coefficients.
#define BLOCK_GROUP __attribute__((reqd_work_group_size(BLOCK_LSIZE, 1, 1)))
#define BLOCK_EACH(i, from, to) (int i = (from) + (int)get_local_id(0); i < (to); i += BLOCK_LSIZE)
