/* The limits of the system. Programs are written against these names. */
#ifndef PARAM_H
#define PARAM_H

#define NPROC 64                    /* processes */
#define KSTACKSIZE 4096             /* bytes of a kernel stack */
#define NCPU 1                      /* processors */
#define NOFILE 16                   /* open files of a process */
#define NFILE 100                   /* open files of the system */
#define NINODE 50                   /* inodes in memory */
#define NDEV 10                     /* largest major device number, + 1 */
#define ROOTDEV 1                   /* device of the root file system */
#define MAXARG 32                   /* arguments of exec */
#define MAXOPBLOCKS 10              /* blocks that one operation writes */
#define LOGSIZE (MAXOPBLOCKS * 3)   /* data blocks of the log */
#define NBUF (LOGSIZE + 20)         /* blocks in the buffer cache */
#define FSSIZE 2000                 /* blocks of a file system by mkfs */

#endif
