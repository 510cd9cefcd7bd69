/*
 * The console: device CONSOLE, on the UART. Output goes out at once; whole
 * writes are kept apart by a sleep lock, which the kernel's own messages do not
 * take. Input comes by interrupt into a line that can be edited until it is
 * ended:
 *
 *   backspace   takes the last character away      ^U  the line
 *   ^D          ends the input: a read of 0 bytes  ^P  prints the processes
 *
 * While there is no room for it, what is typed waits in the UART.
 *
 * `lock` protects the input.
 */
#include "contract.h"
#include "kernel.h"
#include "file.h"
#include "proc.h"

#define LINE 128u
#define CONTROL(letter) ((letter) - '@')
#define DELETE 0x7f
#define CHUNK 64            /* bytes of input copied with interrupts off */
#define BURST 3             /* characters that one interrupt takes */

static struct sleeplock output;
static struct spinlock lock;

/* Bytes counted since boot; each lies at its number modulo LINE. */
static struct {
    char data[LINE];
    uint read;              /* taken by reads */
    uint ended;             /* in lines that were ended */
    uint edited;            /* all, with those of the line that is edited */
} input;

void console_put(int c)
{
    uart_put(c);
}

static void rub_out(void)
{
    console_put('\b');
    console_put(' ');
    console_put('\b');
}

static void take_back(int all)
{
    requires_lock(&lock);
    while (input.edited != input.ended) {
        input.edited--;
        rub_out();
        if (!all)
            break;
    }
}

static int is_full(void)
{
    return input.edited - input.read == LINE;
}

static void add(int c)
{
    requires_lock(&lock);
    if (c == '\r')
        c = '\n';
    if (c == 0)
        return;
    input.data[input.edited++ % LINE] = (char)c;
    if (c != CONTROL('D'))
        console_put(c);
    if (c == '\n' || c == CONTROL('D') || is_full()) {
        input.ended = input.edited;
        wakeup(&input.read);
    }
}

/* Not while it is full. */
static void edit(int c)
{
    requires_lock(&lock);
    switch (c) {
    case CONTROL('P'):
        proc_list();
        break;
    case CONTROL('U'):
        take_back(1);
        break;
    case CONTROL('H'):
    case DELETE:
        take_back(0);
        break;
    default:
        add(c);
    }
    if (is_full())
        uart_listen(0);
}

/* Leaves what comes behind a few characters to the next interrupt, which comes
   at once as long as there are any: others have their turn in between. */
void console_interrupt(void)
{
    requires_interrupts_off();
    acquire(&lock);
    for (int count = 0; count < BURST && !is_full(); count++) {
        int c = uart_get();

        if (c < 0)
            break;
        edit(c);
    }
    release(&lock);
    preempt();
}

/* Up to the end of a line. A ^D behind other bytes is for the next read. */
static int console_read(char *to, int bytes)
{
    requires_sleep_allowed();
    int done = 0, c = 0;

    acquire(&lock);
    while (done < bytes && c != '\n') {
        while (input.read == input.ended) {
            if (cpu.proc->killed) {
                release(&lock);
                return -1;
            }
            sleep(&input.read, &lock);
        }
        c = input.data[input.read % LINE];
        if (c == CONTROL('D') && done > 0)
            break;
        if (is_full())
            uart_listen(1);
        input.read++;
        if (c == CONTROL('D'))
            break;
        to[done++] = (char)c;
        if (done % CHUNK == 0) {
            release(&lock);
            acquire(&lock);
        }
    }
    release(&lock);
    return done;
}

static int console_write(const char *from, int bytes)
{
    requires_sleep_allowed();
    sleeplock_acquire(&output);
    for (int i = 0; i < bytes; i++)
        console_put(from[i]);
    sleeplock_release(&output);
    return bytes;
}

void console_init(void)
{
    lock_init(&lock, "console");
    sleeplock_init(&output, "console output");
    devices[CONSOLE].read = console_read;
    devices[CONSOLE].write = console_write;
}
