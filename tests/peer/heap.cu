#include "peer.h"
/* malloc and free of the device: lists that a thread makes, turns around and gives back, one block that a CTA shares, and
 * more than the heap has. */
PEER(3, 64, 192, 192, PEER_BITS)
#ifndef __CUDACC__
#include <stdlib.h>
#endif
typedef struct node {
    struct node *next;
    u32 value;
} node;
FN u32 list(u32 x, u32 n)
{
    node *head = NULL;
    for (u32 k = 0; k < n; k++) {
        node *one = (node *)malloc(sizeof(node));
        one->next = head;
        one->value = x * (k + 5) + (x >> k);
        head = one;
    }
    node *turned = NULL;
    while (head != NULL) {
        node *next = head->next;
        head->next = turned;
        turned = head;
        head = next;
    }
    u32 sum = 0;
    while (turned != NULL) {
        node *next = turned->next;
        sum = sum * 31 + turned->value;
        free(turned);
        turned = next;
    }
    return sum;
}
#ifdef __CUDACC__
PEER_KERNEL
{
    (void)n_in;
    (void)n_out;
    __shared__ u32 *block;
    u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t == 0) {
        block = (u32 *)malloc(64 * sizeof(u32));
    }
    __syncthreads();
    block[t] = list(in[i], 1 + i % 7);
    __syncthreads();
    u32 other = block[63 - t];
    __syncthreads();
    if (t == 63) {
        free(block);
    }
    free(NULL);
    void *most = malloc((u64)1 << 30);
    out[i] = other + (most == NULL ? 1 : 2);
}
#else
PEER_REFERENCE
{
    (void)n_in;
    for (u32 i = 0; i < n_out; i++) {
        u32 j = i / 64 * 64 + (63 - i % 64);
        out[i] = list(in[j], 1 + j % 7) + 1;
    }
}
#endif
