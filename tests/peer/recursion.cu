#include "peer.h"
CALL u32 fib(u32 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
CALL u32 odd(u32 n, u32 acc);
CALL u32 even(u32 n, u32 acc) { return n == 0 ? acc : odd(n - 1, acc * 3 + 1); }
CALL u32 odd(u32 n, u32 acc) { return n == 0 ? acc + 7 : even(n - 1, acc ^ n); }
FN u32 body(u32 x, u32 i) { return fib(x % 12) * 1000 + even(i % 23, x); }
PEER(2, 64, 120, 120, PEER_BITS)
PEER_EACH(body)
