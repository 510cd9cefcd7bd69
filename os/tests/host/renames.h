/* Names of the kernel that the host's C library has, too. */
#define exit kernel_exit
#define fork kernel_fork
#define kill kernel_kill
#define memcmp kernel_memcmp
#define memcpy kernel_memcpy
#define memmove kernel_memmove
#define memset kernel_memset
#define printf kernel_printf
#define sleep kernel_sleep
#define strlen kernel_strlen
#define strncmp kernel_strncmp
#define strncpy kernel_strncpy
#define syscall kernel_syscall
#define wait kernel_wait
