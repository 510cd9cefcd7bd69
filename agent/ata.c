/*
 * ATA and SCSI commands through SG_IO, to a disk or its sg device. ATA commands
 * go as ATA PASS-THROUGH(16) (SAT-3, 12.2.2), which the kernel or a bridge
 * translates. One command is one operation; several are outstanding by threads.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <scsi/sg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TIMEOUT_MS 60000
#define SENSE_BYTES 64

/* Protocols of ATA PASS-THROUGH. */
enum { NO_DATA = 3, PIO_IN = 4, DMA = 6, FPDMA = 12 };

static const struct key count_keys[] = {
    DEVICE, { "count", KEY_NUMBER, "1", 0, 1, INT64_MAX }, COMMON_KEYS,
    NO_MORE_KEYS
};
static const struct key queued_keys[] = {
    DEVICE, PATTERN_KEYS("0"), { "depth", KEY_NUMBER, "32", 0, 1, 32 },
    NO_MORE_KEYS
};

struct command {
    const char *name;
    unsigned char cdb[16];
    unsigned char length;       /* of the CDB */
    int direction;              /* SG_DXFER_... */
};

static int fail_by_sense(struct record *record, const struct command *command,
                         const sg_io_hdr_t *io)
{
    static const char *const keys[] = {
        "no sense", "recovered error", "not ready", "medium error",
        "hardware error", "illegal request", "unit attention", "data protect",
        "blank check", "vendor's", "copy aborted", "aborted command",
        "reserved", "volume overflow", "miscompare", "completed",
    };
    const unsigned char *sense = io->sbp;
    int has_descriptors = (sense[0] & 0x7E) == 0x72;
    unsigned key = (has_descriptors ? sense[1] : sense[2]) & 15;
    unsigned code = has_descriptors ? sense[2] : sense[12];
    unsigned qualifier = has_descriptors ? sense[3] : sense[13];
    char ata[60] = "";

    if (io->sb_len_wr == 0)
        return record_fail(record, "%s failed: status %02xh, host %02xh, "
                           "driver %02xh", command->name, io->status,
                           io->host_status, io->driver_status);
    if (has_descriptors && sense[8] == 9)
        snprintf(ata, sizeof ata, ", ATA status %02xh, error %02xh", sense[21],
                 sense[11]);
    return record_fail(record, "%s failed: %s (sense key %u, code %02xh, "
                       "qualifier %02xh%s)%s", command->name, keys[key], key,
                       code, qualifier, ata, command->cdb[0] == 0x85
                       && command->cdb[1] >> 1 == FPDMA && key == 5
                       ? "; this host or disk takes no queued commands from "
                       "programs: use block.read or block.write with depth"
                       : "");
}

/* Sends a command. Returns nanoseconds, or 0 after record_fail(). */
static uint64_t send(int fd, struct record *record, struct command *command,
                     void *data, size_t size)
{
    unsigned char sense[SENSE_BYTES] = { 0 };
    uint64_t start, ns;
    sg_io_hdr_t io;

    memset(&io, 0, sizeof io);
    io.interface_id = 'S';
    io.cmdp = command->cdb;
    io.cmd_len = command->length;
    io.dxfer_direction = command->direction;
    io.dxferp = data;
    io.dxfer_len = (unsigned)size;
    io.sbp = sense;
    io.mx_sb_len = sizeof sense;
    io.timeout = TIMEOUT_MS;
    start = now_ns();
    if (ioctl(fd, SG_IO, &io)) {
        record_fail_errno(record, errno == ENOTTY ? "%s: the device takes no "
                          "SCSI or ATA commands" : errno == EDOM ? "%s: an sg "
                          "device has 16 commands outstanding: name the disk"
                          : errno == EINVAL || errno == EIO ? "%s: perhaps of "
                          "more than queue/max_hw_sectors_kb"
                          : "%s", command->name);
        return 0;
    }
    ns = since(start);
    /* the sense of a command that succeeded tells of a recovered error */
    if ((io.info & SG_INFO_OK_MASK) != SG_INFO_OK
        && (io.sb_len_wr == 0 || io.host_status
            || ((sense[0] & 0x7E) == 0x72 ? sense[1] & 15
                : sense[2] & 15) > 1)) {
        fail_by_sense(record, command, &io);
        return 0;
    }
    return ns;
}

/* A command of 48 bits; the sectors are in the count, of FPDMA in features. */
static struct command ata_command(const char *name, unsigned char code,
                                  int protocol, int reads, uint64_t sector,
                                  unsigned sectors)
{
    struct command command = { name, { 0x85 }, 16, SG_DXFER_NONE };
    unsigned char *cdb = command.cdb;

    cdb[1] = (unsigned char)(protocol << 1 | 1);
    if (protocol != NO_DATA) {
        command.direction = reads ? SG_DXFER_FROM_DEV : SG_DXFER_TO_DEV;
        /* length in sectors, found in the count (2) or in features (1) */
        cdb[2] = (unsigned char)((reads ? 8 : 0) | 4
                                 | (protocol == FPDMA ? 1 : 2));
    }
    cdb[protocol == FPDMA ? 3 : 5] = (unsigned char)(sectors >> 8);
    cdb[protocol == FPDMA ? 4 : 6] = (unsigned char)sectors;
    cdb[7] = (unsigned char)(sector >> 24);
    cdb[8] = (unsigned char)sector;
    cdb[9] = (unsigned char)(sector >> 32);
    cdb[10] = (unsigned char)(sector >> 8);
    cdb[11] = (unsigned char)(sector >> 40);
    cdb[12] = (unsigned char)(sector >> 16);
    cdb[13] = 0x40;             /* LBA */
    cdb[14] = code;
    return command;
}

/* One read or write; the name of the operation tells which. */
static uint64_t operate(struct transfer *transfer, char *memory, uint64_t at)
{
    const char *operation = transfer->step->operation->name;
    uint64_t unit = transfer->target->unit, sector = at / unit;
    uint64_t sectors = transfer->size / unit;
    int reads = !transfer->writes;
    struct command command = { reads ? "READ(10)" : "WRITE(10)", { 0 }, 10,
        reads ? SG_DXFER_FROM_DEV : SG_DXFER_TO_DEV };
    unsigned char *cdb = command.cdb;

    if (sectors > (operation[0] == 'a' ? 65536 : 65535)
        || (operation[0] == 's' && sector + sectors - 1 > UINT32_MAX)) {
        record_fail(transfer->record, "%s takes at most 65,536 sectors (SCSI: "
                    "65,535, below sector 2^32)", operation);
        return 0;
    }
    if (operation[0] == 's') {
        cdb[0] = reads ? 0x28 : 0x2A;
        cdb[2] = (unsigned char)(sector >> 24);
        cdb[3] = (unsigned char)(sector >> 16);
        cdb[4] = (unsigned char)(sector >> 8);
        cdb[5] = (unsigned char)sector;
        cdb[7] = (unsigned char)(sectors >> 8);
        cdb[8] = (unsigned char)sectors;
    } else if (operation[4] == 'n') {
        command = ata_command(reads ? "READ FPDMA QUEUED"
                              : "WRITE FPDMA QUEUED", reads ? 0x60 : 0x61,
                              FPDMA, reads, sector, (unsigned)sectors);
    } else {
        command = ata_command(reads ? "READ DMA EXT" : "WRITE DMA EXT",
                              reads ? 0x25 : 0x35, DMA, reads, sector,
                              (unsigned)sectors);
    }
    if (operation[0] == 'a' && unit != 512)
        cdb[2] |= 0x10;         /* sectors are the device's, not 512 bytes */
    return send(transfer->fd, transfer->record, &command, memory,
                transfer->size);
}

static void run_transfer(const struct step *step, struct record *record)
{
    transfer_run(step, record, O_RDWR, operate);
}

/* Repeats a command. Returns whether its data are there. */
static int repeat(const struct step *step, struct record *record,
                  struct command command, void *data, size_t size)
{
    uint64_t count = step_number(step, "count"), ns = 0;
    int fd = target_open(step, record, O_RDWR);

    if (fd < 0)
        return 0;
    record_begin(record, step);
    while (count-- && !record_stopped(record)) {
        ns = send(fd, record, &command, data, size);
        if (ns)
            record_operation(record, ns, size);
    }
    record_end(record);
    close(fd);
    return ns != 0;
}

static unsigned word(const unsigned char *data, int index)
{
    return data[index * 2] | (unsigned)data[index * 2 + 1] << 8;
}

/* Texts have spaces at their ends; those of IDENTIFY have swapped bytes. */
static void tell_text(struct record *record, const char *name,
                      const unsigned char *data, size_t size, int swapped)
{
    char text[48];
    size_t i, begin = 0, end = 0;

    for (i = 0; i < size; i++) {
        text[i] = (char)data[i ^ (size_t)swapped];
        if (text[i] != ' ' && text[i])
            end = i + 1;
    }
    while (begin < end && text[begin] == ' ')
        begin++;
    text[end] = 0;
    record_string(record, name, text + begin);
}

static void run_identify(const struct step *step, struct record *record)
{
    unsigned char data[512] = { 0 };
    uint64_t sectors;

    if (!repeat(step, record, ata_command("IDENTIFY DEVICE", 0xEC, PIO_IN, 1, 0,
                                          1), data, sizeof data))
        return;
    tell_text(record, "model", data + 27 * 2, 40, 1);
    tell_text(record, "firmware", data + 23 * 2, 8, 1);
    tell_text(record, "serial", data + 10 * 2, 20, 1);
    sectors = word(data, 60) | (uint64_t)word(data, 61) << 16;
    if (word(data, 83) & 1 << 10)
        sectors = word(data, 100) | (uint64_t)word(data, 101) << 16
            | (uint64_t)word(data, 102) << 32
            | (uint64_t)word(data, 103) << 48;
    record_number(record, "sectors", sectors);
    record_number(record, "lba48", word(data, 83) >> 10 & 1);
    record_number(record, "ncq_depth", word(data, 76) != 0xFFFF
                  && word(data, 76) & 1 << 8 ? (word(data, 75) & 31) + 1 : 0);
    record_number(record, "sata_generations", word(data, 76) >> 1 & 7);
    record_number(record, "has_write_cache", word(data, 82) >> 5 & 1);
    record_number(record, "write_cache_enabled", word(data, 85) >> 5 & 1);
    record_number(record, "trim", word(data, 169) & 1);
    record_number(record, "rotation", word(data, 217));
}

static void run_smart(const struct step *step, struct record *record)
{
    static const unsigned char told[] = { 5, 9, 177, 194, 231, 233, 241 };
    struct command command = ata_command("SMART READ DATA", 0xB0, PIO_IN, 1,
                                         0xC24F00, 1);
    unsigned char data[512] = { 0 };
    const unsigned char *attribute;
    char name[24];
    uint64_t raw;
    int i;

    command.cdb[4] = 0xD0;
    if (!repeat(step, record, command, data, sizeof data))
        return;
    for (attribute = data + 2; attribute < data + 362; attribute += 12) {
        if (attribute[0] == 0 || !memchr(told, attribute[0], sizeof told))
            continue;
        for (raw = 0, i = 5; i >= 0; i--)
            raw = raw << 8 | attribute[5 + i];
        snprintf(name, sizeof name, "attribute_%u", attribute[0]);
        record_number(record, name, raw);
    }
}

static void run_inquiry(const struct step *step, struct record *record)
{
    struct command command = { "INQUIRY", { 0x12, 0, 0, 0, 96 }, 6,
        SG_DXFER_FROM_DEV };
    unsigned char data[96] = { 0 };

    if (!repeat(step, record, command, data, sizeof data))
        return;
    tell_text(record, "vendor", data + 8, 8, 0);
    tell_text(record, "model", data + 16, 16, 0);
    tell_text(record, "firmware", data + 32, 4, 0);
    record_number(record, "type", data[0] & 31);
}

static void run_flush(const struct step *step, struct record *record)
{
    struct command scsi = { "SYNCHRONIZE CACHE(10)", { 0x35 }, 10,
        SG_DXFER_NONE };

    repeat(step, record, step->operation->name[0] == 's' ? scsi
           : ata_command("FLUSH CACHE EXT", 0xEA, NO_DATA, 0, 0, 0), 0, 0);
}

const struct operation ata_operations[] = {
    { "ata.identify", 0, count_keys, run_identify },
    { "ata.smart", 0, count_keys, run_smart },
    { "ata.read", 0, place_keys, run_transfer },
    { "ata.write", 1, place_keys, run_transfer },
    { "ata.ncq_read", 0, queued_keys, run_transfer },
    { "ata.ncq_write", 1, queued_keys, run_transfer },
    { "ata.flush", 1, count_keys, run_flush },
    { "scsi.inquiry", 0, count_keys, run_inquiry },
    { "scsi.read", 0, place_keys, run_transfer },
    { "scsi.write", 1, place_keys, run_transfer },
    { "scsi.flush", 1, count_keys, run_flush },
    { 0, 0, 0, 0 }
};
