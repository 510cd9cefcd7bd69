/*
 * What board this is, and in which state. What the kernel does not tell is an empty text, or left
 * out where it is a number.
 */
#include "output.h"

#include <limits.h>
#include <sys/utsname.h>
#include <time.h>

#define CPU0 "/sys/devices/system/cpu/cpu0/cpufreq/"
#define CLOCK "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define ZONES_MAX 64

const char *read_line(char *line, size_t size, const char *format, ...)
{
    char path[4096];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    FILE *file = fopen(path, "r");
    if (file == 0 || fgets(line, (int)size, file) == 0)
        *line = 0;
    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = 0;
    return line;
}

/* The value of a field of /proc/cpuinfo, or "". */
static const char *cpu_field(char *line, size_t size, const char *name)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    size_t length = strlen(name);
    const char *value = "";

    while (file && *value == 0 && fgets(line, (int)size, file)) {
        const char *rest = line + length;

        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, name, length))
            continue;
        rest += strspn(rest, " \t");
        if (*rest == ':')
            value = rest + 1 + strspn(rest + 1, " \t");
    }
    if (file)
        fclose(file);
    return value;
}

void board_describe(void)
{
    /* x86 and ARM, older ARM, MIPS, PowerPC, 64-bit ARM, which has numbers */
    static const char *const names[] = { "model name", "Processor", "cpu model", "cpu",
                                         "CPU part" };
    uint64_t least = UINT64_MAX; /* time between two readings of the clock */
    struct timespec time = { 0, 0 };
    struct utsname kernel = { 0 };
    const char *cpu = "";
    char line[256];
    int is_raw = 0;

    uname(&kernel);
    tell("\"board\":{");
    tell_text("kernel", kernel.release);
    tell_text("machine", kernel.machine);
    tell_text("hostname", kernel.nodename);
    if (*read_line(line, sizeof line, "/proc/device-tree/model") == 0)
        read_line(line, sizeof line, "/sys/class/dmi/id/product_name");
    tell_text("model", line);
    for (size_t i = 0; i < COUNT_OF(names) && *cpu == 0; i++)
        cpu = cpu_field(line, sizeof line, names[i]);
    tell_text("cpu", cpu);
    tell_text("governor", read_line(line, sizeof line, CPU0 "scaling_governor"));
    tell_number("cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    tell_number("memory_bytes",
                (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    tell_number("page_bytes", (uint64_t)sysconf(_SC_PAGESIZE));
#ifdef CLOCK_MONOTONIC_RAW
    is_raw = clock_gettime(CLOCK_MONOTONIC_RAW, &time) == 0;
    clock_getres(CLOCK_MONOTONIC_RAW, &time);
#endif
    if (!is_raw)
        clock_getres(CLOCK_MONOTONIC, &time);
    tell("},\"clock\":{");
    tell_text("source", read_line(line, sizeof line, CLOCK));
    tell_text("id", is_raw ? "monotonic_raw" : "monotonic");
    tell_number("resolution_ns", (uint64_t)time.tv_nsec);
    for (int i = 0; i < 1000; i++) {
        uint64_t ns = since(now_ns());

        least = ns < least ? ns : least;
    }
    tell_number("read_ns", least);
    tell("}");
}

void board_state(void)
{
    long warmest = LONG_MIN;
    char line[256];

    read_line(line, sizeof line, CPU0 "scaling_cur_freq");
    unsigned long khz = strtoul(line, 0, 10);
    if (khz == 0)
        khz = (unsigned long)(strtod(cpu_field(line, sizeof line, "cpu MHz"), 0) * 1000);
    if (khz)
        tell_number("cpu_khz", khz);
    for (int i = 0; i < ZONES_MAX; i++) {
        read_line(line, sizeof line, "/sys/class/thermal/thermal_zone%d/temp", i);
        if (*line && strtol(line, 0, 10) > warmest)
            warmest = strtol(line, 0, 10);
    }
    if (warmest > LONG_MIN)
        tell(",\"temperature_mc\":%ld", warmest);
}
