/*
 * Registers of SD cards and eMMC: what sysfs shows of them, and by MMC_IOC_CMD the EXT_CSD of an
 * eMMC (JEDEC JESD84-B51, 7.4) and the general command CMD56, by which makers give the health of
 * cards. The bytes are told as they are.
 */
#include "target.h"

#include <linux/mmc/ioctl.h>
#include <sys/ioctl.h>

#define BYTES 512
/* Of the kernel's <linux/mmc/core.h>: R1, also by SPI, with data. */
#define R1_WITH_DATA (1 << 0 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 7)

static const struct key health_keys[] = { DEVICE, NUMBER("argument", "0", 0, UINT32_MAX), REPEATED,
                                          END_OF_KEYS };

/* Tells what a command reads. */
static void tell_answer(const struct step *step, unsigned opcode, unsigned argument,
                        const char *name)
{
    unsigned char data[BYTES] = { 0 };
    struct mmc_ioc_cmd ioc = {
        .opcode = opcode, .arg = argument, .flags = R1_WITH_DATA, .blksz = BYTES, .blocks = 1
    };
    uint64_t start = now_ns();

    mmc_ioc_cmd_set_data(ioc, data);
    if (ioctl(step->fd, (int)MMC_IOC_CMD, &ioc)) { /* musl has an int there */
        record_fail_errno("CMD%u with %08xh", opcode, argument);
        return;
    }
    record_operation(since(start), BYTES);
    tell_bytes(name, data, BYTES);
}

static void run_registers(const struct step *step)
{
    const char *dir = step->target->dir;
    char line[40];

    tell_files(dir,
               "device/type device/name device/manfid device/oemid device/serial device/date "
               "device/fwrev device/hwrev device/prv device/cid device/csd device/scr device/ssr "
               "device/ocr device/life_time device/pre_eol_info device/erase_size "
               "device/preferred_erase_size");
    if (strcmp(read_line(line, sizeof line, "%s/device/type", dir), "MMC") == 0)
        tell_answer(step, 8, 0, "ext_csd");
}

static void run_health(const struct step *step)
{
    /* bit 0 is the direction: without it, CMD56 writes */
    tell_answer(step, 56, (unsigned)step_number(step, "argument") | 1, "data");
}

const struct operation mmc_operations[] = {
    { "mmc.registers", 0, device_keys, O_RDONLY, run_registers },
    { "mmc.health", 0, health_keys, O_RDONLY, run_health },
    { 0, 0, 0, 0, 0 },
};
