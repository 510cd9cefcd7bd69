/*
 * Changes logical erase blocks of a UBI volume atomically, many times: the load under which UBI levels wear.
 *
 *   leb-change DEVICE LEBS BYTES COUNT SEED
 *
 * Change number n, from 0, gives a LEB below LEBS so many BYTES, each n modulo 256; which one, the n-th number of
 * SplitMix64 of SEED says, modulo LEBS. As the process is only scheduled when nothing else runs (SCHED_IDLE), UBI's
 * background thread has done its work before the next change.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mtd/ubi-user.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

int main(int argc, char **argv)
{
	struct sched_param none = { 0 };
	uint64_t state;
	long lebs, bytes, count, n;
	char *data;
	int volume;

	if (argc != 6)
		return 2;
	lebs = atol(argv[2]);
	bytes = atol(argv[3]);
	count = atol(argv[4]);
	state = strtoull(argv[5], NULL, 0);
	data = malloc(bytes);
	volume = open(argv[1], O_RDWR);
	if (volume < 0 || !data || sched_setscheduler(0, SCHED_IDLE, &none)) {
		perror(argv[1]);
		return 1;
	}
	for (n = 0; n < count; n++) {
		struct ubi_leb_change_req request = {
			.lnum = next(&state) % lebs, .bytes = bytes, .dtype = 3
		};

		memset(data, n & 0xff, bytes);
		if (ioctl(volume, UBI_IOCEBCH, &request) < 0 || write(volume, data, bytes) != bytes) {
			perror("change");
			return 1;
		}
	}
	return 0;
}
