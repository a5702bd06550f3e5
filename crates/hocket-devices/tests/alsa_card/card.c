/* A sound card for tests, as a plug-in of ALSA: it has a clock and no sound.
 *
 * It keeps what it plays in a file, and records a counter. By itself it never runs empty or over, however slow the machine
 * is: its clock waits. What the settings of its PCM ask for befalls it, in this order:
 *
 *   xrun@N     the next period does not come in time: it plays what it has, and stops
 *   late@N     the next period comes when the card has stopped already, and is refused
 *   suspend@N  it stops in the middle of what it has, as where the system sleeps
 *   unplug@N   it is gone
 *   hang@N     it asks for nothing any more
 *
 * N counts the periods that were transferred since it was opened. The card then asks for nothing until what it has would be
 * over, and for `rests_ms` more. So what befalls it never meets a period that is being computed.
 *
 * One thread uses a PCM, so nothing here is locked.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>

#define SECOND_NS UINT64_C(1000000000)
/* What it records, over and over: every value is exact. */
#define COUNTS 1000000
#define FULL_SCALE 1048576.0f

struct card {
	snd_pcm_ioplug_t io;
	int timer;
	size_t frame_bytes;
	snd_pcm_uframes_t boundary;
	/* Of playback: what is not played yet. */
	char *ring;
	/* Frames since the last prepare: by its own clock, and by the program. */
	uint64_t moved, transferred;
	/* The same since it was opened. */
	uint64_t all_moved, all_transferred;
	/* What it had recorded before the last prepare. */
	uint64_t recorded;
	/* The clock: at this time it had moved by so much. */
	uint64_t at_ns, at_moved;
	/* The rest of what befalls it, and when the next of it does; 0: not yet. */
	char *script;
	uint64_t befalls_ns;
	uint64_t rests_ns;
	/* Whether the driver can go on where it was, and how often a prepare fails before the card is awake. */
	long resumes, dozes, dozed;
	int gone;
	FILE *journal, *sound;
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static int plays(const struct card *card)
{
	return card->io.stream == SND_PCM_STREAM_PLAYBACK;
}

/* Frames that it has and the other side does not: to be played, or to be read. */
static uint64_t has(const struct card *card)
{
	return plays(card) ? card->transferred - card->moved : card->moved - card->transferred;
}

/* Frames that can be transferred. */
static uint64_t room(const struct card *card)
{
	return plays(card) ? card->io.buffer_size - has(card) : has(card);
}

static uint64_t lasts_ns(const struct card *card, uint64_t frames)
{
	return (frames * SECOND_NS + card->io.rate - 1) / card->io.rate;
}

static void note(struct card *card, const char *what, uint64_t lost)
{
	fprintf(card->journal, "%s %" PRIu64 " %" PRIu64 "\n", what, card->all_moved, lost);
	fflush(card->journal);
}

/* The clock goes on by so many frames. */
static void move(struct card *card, uint64_t frames)
{
	uint64_t done, frame;
	for (done = 0; plays(card) && done < frames; done++) {
		frame = (card->moved + done) % card->io.buffer_size;
		fwrite(card->ring + frame * card->frame_bytes, card->frame_bytes, 1, card->sound);
	}
	card->moved += frames;
	card->all_moved += frames;
}

/* Whether this is what befalls it next. */
static int is_next(const struct card *card, const char *what)
{
	size_t length = strlen(what);
	return card->script && !strncmp(card->script, what, length) && card->script[length] == '@';
}

static int is_due(const struct card *card)
{
	const char *at = card->script ? strchr(card->script, '@') : NULL;
	uint64_t periods = at ? strtoull(at + 1, NULL, 10) : UINT64_MAX;
	return card->all_transferred / card->io.period_size >= periods;
}

static void forget(struct card *card)
{
	char *next = strchr(card->script, ' ');
	card->script = next ? next + 1 : NULL;
	card->befalls_ns = 0;
}

static void befall(struct card *card)
{
	if (is_next(card, "xrun")) {
		if (plays(card))
			move(card, has(card));
		note(card, "xrun", 0);
		snd_pcm_ioplug_set_state(&card->io, SND_PCM_STATE_XRUN);
	} else if (is_next(card, "suspend")) {
		if (plays(card))
			move(card, has(card) / 2);
		note(card, "suspend", 0);
		snd_pcm_ioplug_set_state(&card->io, SND_PCM_STATE_SUSPENDED);
		card->dozed = card->dozes;
	} else {
		note(card, "unplug", 0);
		snd_pcm_ioplug_set_state(&card->io, SND_PCM_STATE_DISCONNECTED);
		card->gone = 1;
	}
	forget(card);
}

/* After a transfer: what is due befalls it when what it has is over. */
static void look_ahead(struct card *card)
{
	uint64_t left = plays(card) ? has(card) : card->io.buffer_size - has(card);
	if (card->befalls_ns || is_next(card, "late") || !is_due(card) || room(card) >= card->io.period_size)
		return;
	card->befalls_ns = is_next(card, "hang") ? UINT64_MAX : now_ns() + lasts_ns(card, left) + card->rests_ns;
}

static void advance(struct card *card)
{
	uint64_t now = now_ns(), due, most;
	if (card->io.state != SND_PCM_STATE_RUNNING)
		return;
	if (card->befalls_ns) {
		if (now >= card->befalls_ns)
			befall(card);
		return;
	}
	due = card->at_moved + (now - card->at_ns) * card->io.rate / SECOND_NS;
	most = plays(card) ? card->transferred : card->transferred + card->io.buffer_size;
	if (due > most) {
		due = most;
		card->at_ns = now;
		card->at_moved = most;
	}
	if (due > card->moved)
		move(card, due - card->moved);
}

static snd_pcm_sframes_t on_pointer(snd_pcm_ioplug_t *io)
{
	struct card *card = io->private_data;
	advance(card);
	if (io->state == SND_PCM_STATE_XRUN)
		return -EPIPE;
	return (snd_pcm_sframes_t)(card->moved % card->boundary);
}

/* The program's side of a frame, whose samples are behind each other. */
static char *frame_at(const struct card *card, const snd_pcm_channel_area_t *areas, uint64_t frame)
{
	return (char *)areas[0].addr + areas[0].first / 8 + frame * card->frame_bytes;
}

static void record(struct card *card, char *to)
{
	uint64_t number = (card->recorded + card->transferred) % COUNTS;
	float sample = (float)(number + 1) / FULL_SCALE;
	unsigned channel;
	for (channel = 0; channel < card->io.channels; channel++)
		memcpy(to + channel * sizeof sample, &sample, sizeof sample);
}

static snd_pcm_sframes_t on_transfer(snd_pcm_ioplug_t *io, const snd_pcm_channel_area_t *areas,
				     snd_pcm_uframes_t offset, snd_pcm_uframes_t size)
{
	struct card *card = io->private_data;
	snd_pcm_uframes_t frame;
	char *theirs;
	if (card->gone)
		return -ENODEV;
	if (is_next(card, "late") && is_due(card) && io->state == SND_PCM_STATE_RUNNING) {
		move(card, has(card));
		note(card, "late", size);
		snd_pcm_ioplug_set_state(io, SND_PCM_STATE_XRUN);
		forget(card);
		return -EPIPE;
	}
	for (frame = 0; frame < size; frame++) {
		theirs = frame_at(card, areas, offset + frame);
		if (plays(card))
			memcpy(card->ring + card->transferred % io->buffer_size * card->frame_bytes, theirs,
			       card->frame_bytes);
		else
			record(card, theirs);
		card->transferred++;
	}
	card->all_transferred += size;
	look_ahead(card);
	return (snd_pcm_sframes_t)size;
}

static int on_prepare(snd_pcm_ioplug_t *io)
{
	struct card *card = io->private_data;
	if (card->gone)
		return -ENODEV;
	if (card->dozed > 0) {
		card->dozed--;
		return -ESTRPIPE;
	}
	card->recorded += card->moved;
	card->moved = card->transferred = card->befalls_ns = 0;
	return 0;
}

static int on_start(snd_pcm_ioplug_t *io)
{
	struct card *card = io->private_data;
	if (card->gone)
		return -ENODEV;
	card->at_ns = now_ns();
	card->at_moved = card->moved;
	note(card, "start", 0);
	return 0;
}

/* What is not over by now is lost. */
static int on_stop(snd_pcm_ioplug_t *io)
{
	struct card *card = io->private_data;
	note(card, "stop", has(card));
	return 0;
}

/* What it returns is not passed on by ALSA. A driver that cannot leaves the card where it is. */
static int on_resume(snd_pcm_ioplug_t *io)
{
	struct card *card = io->private_data;
	note(card, "resume", 0);
	if (card->resumes) {
		card->at_ns = now_ns();
		card->at_moved = card->moved;
		snd_pcm_ioplug_set_state(io, SND_PCM_STATE_RUNNING);
	}
	return 0;
}

static int on_hw_params(snd_pcm_ioplug_t *io, snd_pcm_hw_params_t *params)
{
	struct card *card = io->private_data;
	(void)params;
	card->frame_bytes = io->channels * sizeof(float);
	free(card->ring);
	card->ring = calloc(io->buffer_size, card->frame_bytes);
	return card->ring ? 0 : -ENOMEM;
}

static int on_sw_params(snd_pcm_ioplug_t *io, snd_pcm_sw_params_t *params)
{
	struct card *card = io->private_data;
	return snd_pcm_sw_params_get_boundary(params, &card->boundary);
}

/* When there is room for a period, or something befalls the card; at once, if that is so or the card stands still. */
static void set_timer(struct card *card)
{
	uint64_t at_ns = 1;
	struct itimerspec timer = {0};
	if (card->io.state == SND_PCM_STATE_RUNNING && card->befalls_ns)
		at_ns = card->befalls_ns;
	else if (card->io.state == SND_PCM_STATE_RUNNING && room(card) < card->io.period_size)
		at_ns = card->at_ns +
			lasts_ns(card, card->moved + card->io.period_size - room(card) - card->at_moved);
	if (at_ns != UINT64_MAX) {
		timer.it_value.tv_sec = (time_t)(at_ns / SECOND_NS);
		timer.it_value.tv_nsec = (long)(at_ns % SECOND_NS);
	}
	timerfd_settime(card->timer, TFD_TIMER_ABSTIME, &timer, NULL);
}

static int on_poll_count(snd_pcm_ioplug_t *io)
{
	(void)io;
	return 1;
}

static int on_poll(snd_pcm_ioplug_t *io, struct pollfd *fds, unsigned int space)
{
	struct card *card = io->private_data;
	if (space < 1)
		return 0;
	set_timer(card);
	fds->fd = card->timer;
	fds->events = POLLIN;
	return 1;
}

static int on_events(snd_pcm_ioplug_t *io, struct pollfd *fds, unsigned int count, unsigned short *events)
{
	struct card *card = io->private_data;
	(void)fds;
	(void)count;
	advance(card);
	*events = 0;
	if (io->state != SND_PCM_STATE_RUNNING && io->state != SND_PCM_STATE_PREPARED)
		*events = POLLERR;
	else if (!card->befalls_ns && room(card) >= io->period_size)
		*events = plays(card) ? POLLOUT : POLLIN;
	else
		set_timer(card);
	return 0;
}

static int on_close(snd_pcm_ioplug_t *io)
{
	struct card *card = io->private_data;
	if (card->timer >= 0)
		close(card->timer);
	if (card->journal)
		fclose(card->journal);
	if (card->sound)
		fclose(card->sound);
	free(card->ring);
	free(card);
	return 0;
}

static const snd_pcm_ioplug_callback_t callbacks = {
	.start = on_start,
	.stop = on_stop,
	.pointer = on_pointer,
	.transfer = on_transfer,
	.close = on_close,
	.hw_params = on_hw_params,
	.sw_params = on_sw_params,
	.prepare = on_prepare,
	.resume = on_resume,
	.poll_descriptors_count = on_poll_count,
	.poll_descriptors = on_poll,
	.poll_revents = on_events,
};

/* A file of the card's own, in the folder of its settings. */
static FILE *file(const char *folder, const char *name, snd_pcm_stream_t stream)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s-%s", folder, snd_pcm_stream_name(stream), name);
	return fopen(path, "w");
}

/* A number, or a text, of the settings. */
static void read_setting(struct card *card, const char **folder, snd_config_t *setting)
{
	const char *id, *text = NULL, *ours = plays(card) ? "playback" : "capture";
	long number = 0;
	if (snd_config_get_id(setting, &id) < 0)
		return;
	if (snd_config_get_integer(setting, &number) < 0)
		snd_config_get_string(setting, &text);
	if (!strcmp(id, "folder"))
		*folder = text;
	else if (!strcmp(id, "rests_ms"))
		card->rests_ns = (uint64_t)number * SECOND_NS / 1000;
	else if (!strcmp(id, "resumes"))
		card->resumes = number;
	else if (!strcmp(id, "dozes"))
		card->dozes = number;
	else if (!strcmp(id, ours))
		card->script = text && *text ? strdup(text) : NULL;
}

static int set_limits(snd_pcm_ioplug_t *io)
{
	static const unsigned access[] = {SND_PCM_ACCESS_RW_INTERLEAVED, SND_PCM_ACCESS_MMAP_INTERLEAVED};
	static const unsigned format[] = {SND_PCM_FORMAT_FLOAT_LE};
	int error = snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_ACCESS, 2, access);
	if (error >= 0)
		error = snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_FORMAT, 1, format);
	if (error >= 0)
		error = snd_pcm_ioplug_set_param_minmax(io, SND_PCM_IOPLUG_HW_CHANNELS, 1, 8);
	if (error >= 0)
		error = snd_pcm_ioplug_set_param_minmax(io, SND_PCM_IOPLUG_HW_RATE, 48000, 48000);
	if (error >= 0)
		error = snd_pcm_ioplug_set_param_minmax(io, SND_PCM_IOPLUG_HW_PERIODS, 2, 8);
	return error;
}

SND_PCM_PLUGIN_DEFINE_FUNC(hocket_card)
{
	struct card *card = calloc(1, sizeof *card);
	snd_config_iterator_t here, next;
	const char *folder = NULL;
	int error;
	(void)root;
	if (!card)
		return -ENOMEM;
	card->io.stream = stream;
	card->io.private_data = card;
	card->boundary = 1;
	snd_config_for_each(here, next, conf)
		read_setting(card, &folder, snd_config_iterator_entry(here));
	card->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	card->journal = folder ? file(folder, "journal", stream) : NULL;
	card->sound = folder ? file(folder, "sound", stream) : NULL;
	if (card->timer < 0 || !card->journal || !card->sound) {
		error = -errno;
		on_close(&card->io);
		return error;
	}
	card->io.version = SND_PCM_IOPLUG_VERSION;
	card->io.name = "a card without sound";
	card->io.flags = SND_PCM_IOPLUG_FLAG_BOUNDARY_WA;
	card->io.callback = &callbacks;
	error = snd_pcm_ioplug_create(&card->io, name, stream, mode);
	if (error < 0) {
		on_close(&card->io);
		return error;
	}
	error = set_limits(&card->io);
	if (error < 0) {
		snd_pcm_ioplug_delete(&card->io);
		return error;
	}
	*pcmp = card->io.pcm;
	return 0;
}

SND_PCM_PLUGIN_SYMBOL(hocket_card)
