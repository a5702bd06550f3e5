/* A graph as a studio has it, checked sample by sample: a microphone, an echo that feeds itself, a bus of six
 * channels that plays by the song's position, its fold to stereo behind a latency, and both as outputs. The song
 * jumps in the middle of a block and then loops. Blocks have all lengths. */
#include <stdio.h>
#include <stdlib.h>

#include "hocket.h"

enum { FRAMES = 16, RATE_HZ = 48000, LENGTH = 1500, LATE = 5, CHANNELS = 6 };
enum { JUMP_AT = 37, JUMP_TO = 1000, LOOP_END = 1300 };

#define CHECK(what) \
    do { \
        if (!(what)) { \
            printf("line %d: %s\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

/* Each channel plays the song's position, so what is heard shows where the song is. */
static void position_process(void *user, const hocket_block *block)
{
    CHECK(block->main_count == CHANNELS && block->side_chain_count == 0 && block->extra_count == 0);
    CHECK(block->main[0] == block->left && block->main[1] == block->right);
    CHECK(block->time && block->time->song.bpm == 90 && block->segment_count > 0);
    for (uint32_t i = 0; i < block->frames; i++) {
        hocket_time time;
        CHECK(hocket_time_at(block->clock, i, &time) == HOCKET_STATUS_OK);
        CHECK(time.playing && time.steady_frame == block->time->steady_frame + i);
        for (uint32_t channel = 0; channel < CHANNELS; channel++)
            block->main[channel][i] = (float)(time.song.frame + 1000 * channel);
    }
    *(uint64_t *)user += block->segment_count;
}

struct late {
    float rows[2][LATE];
    int next;
};

static void late_process(void *user, const hocket_block *block)
{
    struct late *late = user;
    float *rows[2] = {block->left, block->right};
    for (uint32_t i = 0; i < block->frames; i++, late->next = (late->next + 1) % LATE)
        for (int row = 0; row < 2; row++) {
            float now = rows[row][i];
            rows[row][i] = late->rows[row][late->next];
            late->rows[row][late->next] = now;
        }
}

static float microphone(long frame)
{
    return frame < 0 ? 0 : (float)(frame % 7);
}

static float bus[LENGTH][CHANNELS], fold[LENGTH][2], echo[LENGTH];

/* What must be heard, computed frame by frame. */
static void expect(void)
{
    long position = 0;
    for (long frame = 0; frame < LENGTH; frame++, position++) {
        if (frame == JUMP_AT)
            position = JUMP_TO;
        if (position == LOOP_END)
            position = JUMP_TO;
        echo[frame] = microphone(frame) + 0.5f * (frame < FRAMES ? 0 : echo[frame - FRAMES]);
        for (int channel = 0; channel < CHANNELS; channel++)
            bus[frame][channel] = (float)(position + 1000 * channel);
        bus[frame][2] += microphone(frame);
        bus[frame][5] += echo[frame];
        for (int side = 0; side < 2; side++)
            fold[frame][side] = bus[frame][side] + 0.5f * bus[frame][2];
    }
}

static void connect(hocket_graph *graph, hocket_edge edge)
{
    CHECK(hocket_graph_connect(graph, &edge, NULL) == HOCKET_STATUS_OK);
}

static uint32_t add_sum(hocket_graph *graph, const char *name, uint32_t channels)
{
    uint32_t node = hocket_graph_add_node(graph, name, NULL, NULL);
    hocket_ports ports = {.main = channels};
    CHECK(hocket_graph_set_ports(graph, node, &ports, NULL) == HOCKET_STATUS_OK);
    return node;
}

static hocket_graph *studio(uint64_t *segments, struct late *late)
{
    hocket_graph *graph = hocket_graph_new();
    uint32_t microphone_in = hocket_graph_add_input(graph, "microphone", 0, 1, NULL);

    uint32_t echo_sum = add_sum(graph, "echo", 1);
    connect(graph, (hocket_edge){.from = microphone_in, .to = echo_sum, .gain_lin = 1});
    hocket_edge again = {.from = echo_sum, .to = echo_sum, .gain_lin = 0.5f};
    CHECK(hocket_graph_feed_back(graph, &again, NULL) == HOCKET_STATUS_OK);

    hocket_processor plays_position = {
        .user = segments, .process = position_process, .cost = 10, .keeps_time = true};
    uint32_t song = hocket_graph_add_node(graph, "song", &plays_position, NULL);
    hocket_ports six = {.main = CHANNELS};
    CHECK(hocket_graph_set_ports(graph, song, &six, NULL) == HOCKET_STATUS_OK);

    uint32_t surround = add_sum(graph, "surround bus", CHANNELS);
    connect(graph, (hocket_edge){.from = song, .to = surround, .gain_lin = 1});
    connect(graph, (hocket_edge){.from = microphone_in, .to = surround, .gain_lin = 1,
                       .channels = 1, .to_channel = 2});
    connect(graph, (hocket_edge){.from = echo_sum, .to = surround, .gain_lin = 1,
                       .channels = 1, .to_channel = 5});

    /* Left and right as they are, the centre at half its level on both sides. */
    hocket_processor delays = {
        .user = late, .process = late_process, .cost = 10, .latency_frames = LATE};
    uint32_t stereo = hocket_graph_add_node(graph, "fold to stereo", &delays, NULL);
    connect(graph, (hocket_edge){.from = surround, .to = stereo, .gain_lin = 1, .channels = 2});
    for (uint32_t side = 0; side < 2; side++)
        connect(graph, (hocket_edge){.from = surround, .to = stereo, .gain_lin = 0.5f,
                           .channels = 1, .from_channel = 2, .to_channel = side});

    uint32_t outputs[] = {stereo, surround};
    CHECK(hocket_graph_set_outputs(graph, outputs, 2, NULL) == HOCKET_STATUS_OK);
    return graph;
}

/* Plays a block and checks both outputs. */
static void play(hocket_engine *engine, long frame, uint32_t frames)
{
    float in[FRAMES], rows[CHANNELS][FRAMES];
    for (uint32_t i = 0; i < frames; i++)
        in[i] = microphone(frame + i);
    const float *inputs[] = {in};
    float *six[CHANNELS];
    for (int channel = 0; channel < CHANNELS; channel++)
        six[channel] = rows[channel];

    CHECK(hocket_engine_write_input(engine, 0, inputs, 1, frames) == HOCKET_STATUS_OK);
    CHECK(hocket_engine_run(engine, frames, hocket_now_ns(), NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_engine_read_output(engine, 0, six, 2, frames) == HOCKET_STATUS_OK);
    for (uint32_t i = 0; i < frames; i++)
        for (int side = 0; side < 2; side++) {
            long heard = frame + i - LATE;
            CHECK(rows[side][i] == (heard < 0 ? 0 : fold[heard][side]));
        }
    CHECK(hocket_engine_read_output(engine, 1, six, CHANNELS, frames) == HOCKET_STATUS_OK);
    for (uint32_t i = 0; i < frames; i++)
        for (int channel = 0; channel < CHANNELS; channel++)
            CHECK(rows[channel][i] == bus[frame + i][channel]);
}

static void set_tempo(hocket_engine *engine)
{
    hocket_tempo_point tempo = {.beats = 0, .bpm = 90};
    hocket_time_signature waltz = {.beats = 0, .numerator = 3, .denominator = 4};
    hocket_tempo_map *map = hocket_tempo_map_new(RATE_HZ, &tempo, 1, &waltz, 1, NULL);
    CHECK(map);
    int64_t second_bar;
    CHECK(hocket_tempo_map_frame_at_bar(map, 1, 0, &second_bar, NULL) == HOCKET_STATUS_OK);
    CHECK(second_bar == RATE_HZ * 60L / 90 * 3);
    CHECK(hocket_engine_set_tempo_map(engine, map, NULL) == HOCKET_STATUS_OK);
    hocket_tempo_map_free(map);
}

static void play_all(const char *schedule)
{
    uint64_t segments = 0;
    struct late late = {0};
    hocket_settings settings = hocket_settings_for(FRAMES, RATE_HZ);
    settings.priority = 0;
    settings.schedule = schedule;
    hocket_error *error;
    hocket_engine *engine = hocket_engine_start_graph(studio(&segments, &late), &settings, &error);
    if (!engine) {
        printf("%s\n", hocket_error_text(error));
        exit(1);
    }
    set_tempo(engine);
    /* The leader asks for a jump in the middle of a block, another thread would ask for the loop. */
    hocket_command jump = {
        .action = HOCKET_LOCATE, .at_steady_frame = JUMP_AT, .frame = JUMP_TO};
    CHECK(hocket_engine_command(engine, &jump) == HOCKET_STATUS_OK);
    hocket_command loop = {.action = HOCKET_LOOP, .frame = JUMP_TO, .end = LOOP_END};
    CHECK(hocket_engine_transport(engine, &loop, NULL) == HOCKET_STATUS_OK);

    long frame = 0;
    for (uint32_t block = 0; frame < LENGTH; block++) {
        uint32_t frames = 1 + block * 7 % FRAMES;
        frames = frames < LENGTH - frame ? frames : (uint32_t)(LENGTH - frame);
        play(engine, frame, frames);
        frame += frames;
    }

    hocket_transport_state state;
    CHECK(hocket_engine_transport_state(engine, &state) == HOCKET_STATUS_OK);
    CHECK(state.steady_frame == LENGTH && state.playing && state.loops);
    CHECK(state.position == JUMP_TO + (LENGTH - JUMP_AT) % (LOOP_END - JUMP_TO));
    CHECK(segments > 0);
    hocket_output stereo, surround;
    CHECK(hocket_engine_output(engine, 0, &stereo) == HOCKET_STATUS_OK);
    CHECK(hocket_engine_output(engine, 1, &surround) == HOCKET_STATUS_OK);
    CHECK(stereo.main == 2 && stereo.latency_frames == LATE);
    CHECK(surround.main == CHANNELS && surround.latency_frames == 0);
    CHECK(hocket_engine_stop(engine) == HOCKET_STATUS_OK);
}

int main(void)
{
    expect();
    play_all("serial");
    play_all("dataflow");
    printf("every sample as expected\n");
    return 0;
}
