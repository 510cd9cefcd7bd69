/*
 * Registers of SD cards and eMMC: what sysfs shows of them, and by MMC_IOC_CMD
 * the EXT_CSD of an eMMC (JEDEC JESD84-B51, 7.4) and the general command CMD56,
 * by which makers give the health of cards.
 */
#include "target.h"

#include <fcntl.h>
#include <linux/mmc/ioctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BYTES 512
/* Of the kernel's <linux/mmc/core.h>: R1, also by SPI, with data. */
#define R1_WITH_DATA (1 << 0 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 7)

static const struct key health_keys[] = {
    DEVICE, { "argument", KEY_NUMBER, "0", 0, 0, UINT32_MAX }, COMMON_KEYS,
    NO_MORE_KEYS
};

/* A command that reads 512 bytes. Returns 0, or -1 after record_fail(). */
static int command(int fd, struct record *record, unsigned opcode,
                   unsigned argument, unsigned char *data)
{
    struct mmc_ioc_cmd ioc;
    uint64_t start;

    memset(&ioc, 0, sizeof ioc);
    ioc.opcode = opcode;
    ioc.arg = argument;
    ioc.flags = R1_WITH_DATA;
    ioc.blksz = BYTES;
    ioc.blocks = 1;
    mmc_ioc_cmd_set_data(ioc, data);
    start = now_ns();
    if (ioctl(fd, (int)MMC_IOC_CMD, &ioc))     /* musl has an int there */
        return record_fail_errno(record, "CMD%u with %08xh", opcode, argument);
    record_operation(record, now_ns() - start, BYTES);
    return 0;
}

static void run_registers(const struct step *step, struct record *record)
{
    static const struct {
        const char *name;
        int at, bytes;          /* in EXT_CSD */
    } fields[] = {
        { "ext_csd_rev", 192, 1 }, { "life_time_a", 268, 1 },
        { "life_time_b", 269, 1 }, { "pre_eol", 267, 1 },
        { "cache_kbit", 249, 4 }, { "cache_on", 33, 1 },
        { "firmware", 254, 8 }, { "sectors", 212, 4 },
        { "erase_group_512k", 224, 1 }, { "timing", 185, 1 },
    };
    const char *dir = target_named(step_target(step))->dir;
    int fd = target_open(step, record, O_RDONLY), byte;
    unsigned char data[BYTES] = { 0 };
    char line[40];
    uint64_t value;
    size_t i;

    if (fd < 0)
        return;
    tell_files(record, dir, "device/type device/name device/manfid "
               "device/oemid device/serial device/date device/fwrev "
               "device/hwrev device/prv device/cid device/csd device/scr "
               "device/ssr device/ocr device/life_time device/pre_eol_info "
               "device/erase_size device/preferred_erase_size");
    read_line(line, sizeof line, "%s/device/type", dir);
    if (strcmp(line, "MMC") == 0 && command(fd, record, 8, 0, data) == 0)
        for (i = 0; i < sizeof fields / sizeof *fields; i++) {
            for (value = 0, byte = fields[i].bytes - 1; byte >= 0; byte--)
                value = value << 8 | data[fields[i].at + byte];
            record_number(record, fields[i].name, value);
        }
    close(fd);
}

static void run_health(const struct step *step, struct record *record)
{
    int fd = target_open(step, record, O_RDONLY), i;
    unsigned char data[BYTES] = { 0 };
    char hex[2 * BYTES + 1];

    if (fd < 0)
        return;
    /* bit 0 is the direction: without it, CMD56 writes */
    if (command(fd, record, 56, (unsigned)step_number(step, "argument") | 1,
                data) == 0) {
        for (i = 0; i < BYTES; i++)
            sprintf(hex + 2 * i, "%02x", data[i]);
        record_string(record, "data", hex);
    }
    close(fd);
}

const struct operation mmc_operations[] = {
    { "mmc.registers", 0, device_keys, run_registers },
    { "mmc.health", 0, health_keys, run_health },
    { 0, 0, 0, 0 }
};
