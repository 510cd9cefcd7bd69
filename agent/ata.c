/*
 * ATA and SCSI commands through SG_IO, to a disk or its sg device. ATA commands go as ATA
 * PASS-THROUGH(16) (SAT-3, 12.2.2), which the kernel or a bridge translates. One command is one
 * operation; several are outstanding by threads. What a device tells about itself is told as it is.
 */
#include "target.h"

#include <scsi/sg.h>
#include <sys/ioctl.h>

#define TIMEOUT_MS 60000
#define SENSE_BYTES 64
#define CDB_BYTES 16
#define HAS_DESCRIPTORS(sense) (((sense)[0] & 0x7E) == 0x72)
#define PASS_THROUGH 0x85 /* ATA PASS-THROUGH(16) */

/* Protocols of ATA PASS-THROUGH, and commands that go without it. */
enum { SCSI = 0, NO_DATA = 3, PIO_IN = 4, DMA = 6, FPDMA = 12 };
enum { INQUIRY = 0x12, SMART = 0xB0 };
enum { NONE = SG_DXFER_NONE, IN = SG_DXFER_FROM_DEV, OUT = SG_DXFER_TO_DEV };

static const struct key count_keys[] = { DEVICE, NUMBER("count", "1", 1, INT64_MAX), REPEATED,
                                         END_OF_KEYS };
static const struct key queued_keys[] = { DEVICE, PATTERN("0"), NUMBER("depth", "32", 1, 32),
                                          END_OF_KEYS };

/*
 * Operations and their commands: name, code, bytes of the CDB, protocol, direction, and of commands
 * whose data are told their bytes and name; those of the others are of the pattern.
 */
/* clang-format off */
#define COMMANDS(X) \
    X("ata.identify", 0, count_keys, "IDENTIFY DEVICE", 0xEC, 16, PIO_IN, IN, 512, "identify") \
    X("ata.smart", 0, count_keys, "SMART READ DATA", SMART, 16, PIO_IN, IN, 512, "smart") \
    X("ata.read", 0, place_keys, "READ DMA EXT", 0x25, 16, DMA, IN, 0, 0) \
    X("ata.write", 1, place_keys, "WRITE DMA EXT", 0x35, 16, DMA, OUT, 0, 0) \
    X("ata.ncq_read", 0, queued_keys, "READ FPDMA QUEUED", 0x60, 16, FPDMA, IN, 0, 0) \
    X("ata.ncq_write", 1, queued_keys, "WRITE FPDMA QUEUED", 0x61, 16, FPDMA, OUT, 0, 0) \
    X("ata.flush", 1, count_keys, "FLUSH CACHE EXT", 0xEA, 16, NO_DATA, NONE, 0, 0) \
    X("scsi.inquiry", 0, count_keys, "INQUIRY", INQUIRY, 6, SCSI, IN, 96, "inquiry") \
    X("scsi.read", 0, place_keys, "READ(10)", 0x28, 10, SCSI, IN, 0, 0) \
    X("scsi.write", 1, place_keys, "WRITE(10)", 0x2A, 10, SCSI, OUT, 0, 0) \
    X("scsi.flush", 1, count_keys, "SYNCHRONIZE CACHE(10)", 0x35, 10, SCSI, NONE, 0, 0)
#define AS_FORM(operation, writes, keys, ...) { __VA_ARGS__ },
#define AS_OPERATION(operation, writes, keys, ...) { operation, writes, keys, O_RDWR, run },
/* clang-format on */

static const struct form {
    const char *name;
    unsigned char code, length; /* of the CDB */
    int protocol, direction;
    unsigned bytes;
    const char *told;
} forms[] = { COMMANDS(AS_FORM) };

/* A number with its high byte first. */
static void put(unsigned char *to, unsigned bytes, uint64_t number)
{
    for (; bytes; number >>= 8)
        to[--bytes] = (unsigned char)number;
}

/* The sectors are in the count, of FPDMA in features; of INQUIRY they are bytes. */
static void make_cdb(unsigned char *cdb, const struct form *form, uint64_t sector, unsigned sectors)
{
    memset(cdb, 0, CDB_BYTES);
    if (form->protocol == SCSI) {
        cdb[0] = form->code;
        put(cdb + 2, 4, sector);
        put(cdb + (form->code == INQUIRY ? 3 : 7), 2, sectors);
        return;
    }
    cdb[0] = PASS_THROUGH;
    cdb[1] = (unsigned char)(form->protocol << 1 | 1);
    /* length in sectors, found in the count (2) or in features (1) */
    if (form->protocol != NO_DATA)
        cdb[2] = (form->direction == IN ? 8 : 0) | 4 | (form->protocol == FPDMA ? 1 : 2);
    put(cdb + (form->protocol == FPDMA ? 3 : 5), 2, sectors);
    if (form->code == SMART) {
        cdb[4] = 0xD0; /* READ DATA, in features */
        sector = 0xC24F00;
    }
    for (int i = 0; i < 3; i++) {
        cdb[7 + 2 * i] = (unsigned char)(sector >> (24 + 8 * i));
        cdb[8 + 2 * i] = (unsigned char)(sector >> 8 * i);
    }
    cdb[13] = 0x40; /* LBA */
    cdb[14] = form->code;
}

static unsigned sense_key(const unsigned char *sense)
{
    return (HAS_DESCRIPTORS(sense) ? sense[1] : sense[2]) & 15;
}

static int fail_by_sense(const struct form *form, const sg_io_hdr_t *io)
{
    static const char *const keys[] = {
        "no sense",       "recovered error", "not ready",      "medium error",
        "hardware error", "illegal request", "unit attention", "data protect",
        "blank check",    "vendor's",        "copy aborted",   "aborted command",
        "reserved",       "volume overflow", "miscompare",     "completed",
    };
    const unsigned char *sense = io->sbp, *code = sense + (HAS_DESCRIPTORS(sense) ? 2 : 12);
    unsigned key = sense_key(sense);
    const char *hint = "";
    char ata[60] = "";

    if (io->sb_len_wr == 0)
        return record_fail("%s failed: status %02xh, host %02xh, driver %02xh", form->name,
                           io->status, io->host_status, io->driver_status);
    if (HAS_DESCRIPTORS(sense) && sense[8] == 9)
        snprintf(ata, sizeof ata, ", ATA status %02xh, error %02xh", sense[21], sense[11]);
    if (form->protocol == FPDMA && key == 5)
        hint = "; this host or disk takes no queued commands from programs: use block.read or "
               "block.write with depth";
    return record_fail("%s failed: %s (sense key %u, code %02xh, qualifier %02xh%s)%s", form->name,
                       keys[key], key, code[0], code[1], ata, hint);
}

/* Sends the command of a step. Returns nanoseconds, or -1 after record_fail(). */
static int64_t send(const struct step *step, unsigned char *cdb, void *data, size_t size)
{
    const struct form *form = &forms[step->operation - ata_operations];
    unsigned char sense[SENSE_BYTES] = { 0 };
    sg_io_hdr_t io = { .interface_id = 'S', .timeout = TIMEOUT_MS, .cmdp = cdb, .sbp = sense };
    const char *hint = "";

    io.cmd_len = form->length;
    io.dxfer_direction = form->direction;
    io.dxferp = data;
    io.dxfer_len = (unsigned)size;
    io.mx_sb_len = sizeof sense;
    uint64_t start = now_ns();
    if (ioctl(step->fd, SG_IO, &io)) {
        if (errno == ENOTTY)
            hint = ": the device takes no SCSI or ATA commands";
        else if (errno == EDOM)
            hint = ": an sg device has 16 commands outstanding: name the disk";
        else if (errno == EINVAL || errno == EIO)
            hint = ": perhaps of more than queue/max_hw_sectors_kb";
        return record_fail_errno("%s%s", form->name, hint);
    }
    int64_t ns = (int64_t)since(start);
    /* the sense of a command that succeeded tells of a recovered error */
    if ((io.info & SG_INFO_OK_MASK) != SG_INFO_OK
        && (io.sb_len_wr == 0 || io.host_status || sense_key(sense) > 1))
        return fail_by_sense(form, &io);
    return ns;
}

static int64_t operate(struct slot *slot)
{
    const struct step *step = slot->transfer->step;
    const struct form *form = &forms[step->operation - ata_operations];
    uint64_t unit = step->target->unit, sector = slot->at / unit;
    unsigned sectors = (unsigned)(slot->transfer->size / unit);
    int is_scsi = form->protocol == SCSI;
    unsigned char cdb[CDB_BYTES];

    if (sectors > (is_scsi ? 65535 : 65536) || (is_scsi && sector + sectors - 1 > UINT32_MAX))
        return record_fail("%s takes at most 65,536 sectors (SCSI: 65,535, below sector 2^32)",
                           step->operation->name);
    make_cdb(cdb, form, sector, sectors);
    if (!is_scsi && unit != 512)
        cdb[2] |= 0x10; /* sectors are the device's, not 512 bytes */
    return send(step, cdb, slot->memory, slot->transfer->size);
}

/* Goes by the pattern, or else repeats a command and tells the data of the last one. */
static void run(const struct step *step)
{
    const struct form *form = &forms[step->operation - ata_operations];
    unsigned char data[512] = { 0 }, cdb[CDB_BYTES];
    int64_t ns = -1;

    if (step->operation->keys != count_keys) {
        transfer_run(step, operate);
        return;
    }
    make_cdb(cdb, form, 0, form->protocol == SCSI ? form->bytes : form->bytes / 512);
    for (uint64_t left = step_number(step, "count"); left && !record_stopped(); left--) {
        ns = send(step, cdb, data, form->bytes);
        if (ns >= 0)
            record_operation((uint64_t)ns, form->bytes);
    }
    record_end();
    if (ns >= 0 && form->bytes)
        tell_bytes(form->told, data, form->bytes);
}

/* clang-format off */
const struct operation ata_operations[] = {
    COMMANDS(AS_OPERATION)
    { 0, 0, 0, 0, 0 },
};
/* clang-format on */
