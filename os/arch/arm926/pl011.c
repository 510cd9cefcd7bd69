/*
 * The UART of the console, with an interrupt for each character that came. The
 * FIFOs stay off: switching them on drops what was typed before the start, and
 * a character takes longer on the line (87 us at 115,200 baud) than interrupts
 * are ever off. Source: ARM DDI 0183G, chapter 3.
 */
#include "board.h"
#include "kernel.h"

#define DATA REGISTER(UART0 + 0x00)
#define FLAGS REGISTER(UART0 + 0x18)
#define LINE REGISTER(UART0 + 0x2c)
#define CONTROL REGISTER(UART0 + 0x30)
#define MASK REGISTER(UART0 + 0x38)

#define RECEIVE_EMPTY 0x10
#define TRANSMIT_FULL 0x20
#define EIGHT_BITS 0x60
#define ON_BOTH_WAYS 0x301
#define RECEIVE 0x10

void uart_init(void)
{
    LINE = EIGHT_BITS;
    CONTROL = ON_BOTH_WAYS;
    uart_listen(1);
    gic_enable(INTERRUPT_UART0);
}

/* With `on` clear, what comes stays in the UART and raises no interrupt. */
void uart_listen(int on)
{
    MASK = on ? RECEIVE : 0;
}

void uart_put(int c)
{
    while (FLAGS & TRANSMIT_FULL)
        ;
    DATA = (uchar)c;
}

int uart_get(void)
{
    return FLAGS & RECEIVE_EMPTY ? -1 : (int)(DATA & 0xff);
}
