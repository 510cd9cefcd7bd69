/*
 * What board this is, and in which state. What the kernel does not tell is an
 * empty text, or left out where it is a number.
 */
#include "output.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define CPU0 "/sys/devices/system/cpu/cpu0/cpufreq/"
#define CLOCK "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define ZONES_MAX 64

const char *read_line(char *line, size_t size, const char *format, ...)
{
    char path[4096];
    va_list arguments;
    ssize_t got;
    int fd;

    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? 0 : read(fd, line, size - 1);
    if (fd >= 0)
        close(fd);
    line[got > 0 ? got : 0] = 0;
    line[strcspn(line, "\n")] = 0;
    return line;
}

/* The value of the first of `names` that /proc/cpuinfo has; one a line. */
static const char *cpu_field(char *line, size_t size, const char *names)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    size_t length = strcspn(names, "\n");
    char *value = 0;

    while (file && value == 0 && fgets(line, (int)size, file)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, names, length) == 0) {
            value = line + length + strspn(line + length, " \t");
            value = *value == ':' ? value : 0;
        }
    }
    if (file)
        fclose(file);
    if (value)
        return value + 1 + strspn(value + 1, " \t");
    return names[length] ? cpu_field(line, size, names + length + 1) : "";
}

static void describe(struct text *text, const char *field, const char *value)
{
    text_format(text, ",\"%s\":", field);
    text_string(text, value);
}

/* The least time between two readings of the clock. */
static uint64_t reading_ns(void)
{
    uint64_t least = UINT64_MAX, start, end;
    int i;

    for (i = 0; i < 1000; i++) {
        start = now_ns();
        end = now_ns();
        if (end - start < least)
            least = end - start;
    }
    return least;
}

void board_describe(struct text *text)
{
    struct timespec time = { 0, 0 };
    struct utsname names;
    char line[256], dmi[256];
    int is_raw = 0;

    memset(&names, 0, sizeof names);
    uname(&names);
    text_format(text, ",\"board\":{\"kernel\":");
    text_string(text, names.release);
    describe(text, "machine", names.machine);
    describe(text, "hostname", names.nodename);
    read_line(line, sizeof line, "/proc/device-tree/model");
    read_line(dmi, sizeof dmi, "/sys/class/dmi/id/product_name");
    describe(text, "model", *line ? line : dmi);
    /* x86 and ARM, older ARM, MIPS, PowerPC, 64-bit ARM, which has numbers. */
    describe(text, "cpu", cpu_field(line, sizeof line, "model name\n"
                                    "Processor\ncpu model\ncpu\nCPU part"));
    describe(text, "governor",
             read_line(line, sizeof line, CPU0 "scaling_governor"));
    text_format(text, ",\"cpus\":%ld,\"memory_bytes\":%llu,\"page_bytes\":%ld}",
                sysconf(_SC_NPROCESSORS_ONLN),
                (unsigned long long)sysconf(_SC_PHYS_PAGES)
                * (unsigned long long)sysconf(_SC_PAGESIZE),
                sysconf(_SC_PAGESIZE));
#ifdef CLOCK_MONOTONIC_RAW
    is_raw = clock_gettime(CLOCK_MONOTONIC_RAW, &time) == 0;
    clock_getres(CLOCK_MONOTONIC_RAW, &time);
#endif
    if (!is_raw)
        clock_getres(CLOCK_MONOTONIC, &time);
    text_format(text, ",\"clock\":{\"source\":");
    text_string(text, read_line(line, sizeof line, CLOCK));
    text_format(text, ",\"id\":\"%s\",\"resolution_ns\":%ld,\"read_ns\":%llu}",
                is_raw ? "monotonic_raw" : "monotonic", (long)time.tv_nsec,
                (unsigned long long)reading_ns());
}

void board_state(struct text *text)
{
    unsigned long khz;
    long warmest = 0, zone;
    char line[256];
    int i, found = 0;

    read_line(line, sizeof line, CPU0 "scaling_cur_freq");
    khz = strtoul(line, 0, 10);
    if (khz == 0)
        khz = (unsigned long)(strtod(cpu_field(line, sizeof line, "cpu MHz"),
                                     0) * 1000);
    if (khz)
        text_format(text, ",\"cpu_khz\":%lu", khz);
    for (i = 0; i < ZONES_MAX; i++) {
        read_line(line, sizeof line, "/sys/class/thermal/thermal_zone%d/temp",
                  i);
        zone = strtol(line, 0, 10);
        if (*line && (!found || zone > warmest))
            warmest = zone;
        found |= *line != 0;
    }
    if (found)
        text_format(text, ",\"temperature_mc\":%ld", warmest);
}
