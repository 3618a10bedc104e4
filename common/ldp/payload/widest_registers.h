// Compiles a function with this attribute once for every x86-64 and again for processors with wider
// registers and more instructions; the choice is made when the program starts.
//
// The attribute is empty under the sanitizers, whose start-up does not support the resolver that it
// needs, and with clang 14, which has none.

#ifndef COPPICE_COMMON_LDP_PAYLOAD_WIDEST_REGISTERS_H_
#define COPPICE_COMMON_LDP_PAYLOAD_WIDEST_REGISTERS_H_

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)
#define COPPICE_WIDEST_REGISTERS \
  __attribute__((target_clones("default", "avx2", "arch=skylake-avx512")))
#else
#define COPPICE_WIDEST_REGISTERS
#endif

#endif  // COPPICE_COMMON_LDP_PAYLOAD_WIDEST_REGISTERS_H_
