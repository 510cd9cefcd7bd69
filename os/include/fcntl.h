/* How a file is opened. */
#ifndef FCNTL_H
#define FCNTL_H

#define O_RDONLY 0x000
#define O_WRONLY 0x001
#define O_RDWR 0x002
#define O_CREATE 0x200

#endif
