/* Short names of integer types, shared by kernel and user programs. */
#ifndef TYPES_H
#define TYPES_H

typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned char uchar;
typedef unsigned long long ulong64;
typedef uint pde_t;

#endif
