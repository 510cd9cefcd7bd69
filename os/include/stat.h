/* What fstat tells of a file. */
#ifndef STAT_H
#define STAT_H

#define T_DIR 1     /* directory */
#define T_FILE 2    /* file */
#define T_DEV 3     /* device */

struct stat {
    short type;     /* T_ */
    int dev;        /* device of the file system */
    uint ino;       /* inode number */
    short nlink;    /* links to it */
    uint size;      /* bytes */
};

#endif
