/*
 * Shared memory and its write-back cache, line by line.
 */
#include "config.h"

#include "host/memory.h"
#include "nicsim_port.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

enum {
    LINE_VALID = 1,
    LINE_DIRTY = 2,
    PINS_MAX = 4096
};

/* The parts of the room begin at pages. */
static size_t pages(size_t bytes)
{
    return (bytes + NS_PIN_BYTES - 1) / NS_PIN_BYTES * NS_PIN_BYTES;
}

size_t ns_memory_room(uint32_t bytes, uint32_t line_bytes, bool coherent)
{
    return pages(bytes) * (coherent ? 1 : 2) + pages(bytes / line_bytes + 1) +
           pages(PINS_MAX * sizeof(uint64_t));
}

/* Pages that take memory once they are touched, and are zero at first. */
static uint8_t *room_get(size_t bytes)
{
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return room == MAP_FAILED ? NULL : room;
}

int ns_memory_init(struct ns_memory *memory, uint32_t bytes,
                   uint32_t line_bytes, bool coherent, uint8_t *room)
{
    *memory = (struct ns_memory){
            .room = room,
            .borrowed = room != NULL,
            .line_bytes = line_bytes,
            .line_shift = (uint32_t)__builtin_ctz(line_bytes),
            .bytes = bytes,
            .coherent = coherent,
    };
    NS_CHECK(line_bytes == 1u << memory->line_shift);
    if (room == NULL) {
        memory->room = room_get(ns_memory_room(bytes, line_bytes, coherent));
    }
    if (memory->room == NULL) {
        return -1;
    }
    memory->memory = memory->room;
    memory->cache = memory->memory + (coherent ? 0 : pages(bytes));
    memory->lines = memory->cache + pages(bytes);
    memory->pins = (uint64_t *)(memory->lines + pages(bytes / line_bytes + 1));
    return 0;
}

void ns_memory_fini(struct ns_memory *memory)
{
    if (memory->room != NULL && !memory->borrowed) {
        munmap(memory->room, ns_memory_room(memory->bytes, memory->line_bytes,
                                            memory->coherent));
    }
    free(memory->pin_free);
    *memory = (struct ns_memory){0};
}

uint32_t ns_memory_alloc(struct ns_memory *memory, size_t bytes, size_t align)
{
    uint64_t at = ((uint64_t)memory->used + align - 1) / align * align;

    if (!ns_memory_holds(memory, at, bytes)) {
        return NS_ADDRESS_NONE;
    }
    memory->used = (uint32_t)(at + bytes);
    return (uint32_t)at;
}

static bool pins_alloc(struct ns_memory *memory)
{
    memory->pin_free = calloc(PINS_MAX, sizeof(*memory->pin_free));
    if (memory->pin_free == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < PINS_MAX; i++) {
        memory->pin_free[i] = i;
    }
    memory->pin_first = 0;
    memory->pin_count = PINS_MAX;
    return true;
}

uint32_t ns_memory_pin(struct ns_memory *memory, void *page)
{
    uint32_t index;

    if ((memory->pin_free == NULL && !pins_alloc(memory)) ||
        memory->pin_count == 0) {
        return NS_ADDRESS_NONE;
    }
    index = memory->pin_free[memory->pin_first];
    memory->pin_first = (memory->pin_first + 1) % PINS_MAX;
    memory->pin_count--;
    memory->pins[index] = (uint64_t)(uintptr_t)page;
    return NS_PIN_BASE + index * NS_PIN_BYTES;
}

void ns_memory_unpin(struct ns_memory *memory, uint32_t address)
{
    uint32_t index = (address - NS_PIN_BASE) / NS_PIN_BYTES;

    NS_CHECK(address >= NS_PIN_BASE && index < PINS_MAX &&
             memory->pin_count < PINS_MAX);
    memory->pin_free[(memory->pin_first + memory->pin_count) % PINS_MAX] =
            index;
    memory->pin_count++;
}

/* Where DMA to or from pinned memory goes; 0: to shared memory. */
static uint64_t pinned(const struct ns_memory *memory, uint32_t address,
                       size_t bytes)
{
    uint32_t at = address % NS_PIN_BYTES;

    if (address < NS_PIN_BASE) {
        return 0;
    }
    address -= NS_PIN_BASE;
    NS_CHECK(address / NS_PIN_BYTES < PINS_MAX && at + bytes <= NS_PIN_BYTES);
    return memory->pins[address / NS_PIN_BYTES] + at;
}

void ns_memory_release(struct ns_memory *memory)
{
    free(memory->pin_free);
    memory->pin_free = NULL;
    memset(memory->memory, 0, memory->used);
    memset(memory->lines, 0, memory->used / memory->line_bytes + 1);
    memory->used = 0;
}

bool ns_memory_holds(const struct ns_memory *memory, uint64_t address,
                     uint64_t bytes)
{
    return bytes <= memory->bytes && address <= memory->bytes - bytes;
}

/* The lines of a range: first to last, inclusive; bytes > 0. */
static uint32_t line_first(const struct ns_memory *memory, uint32_t address)
{
    return address >> memory->line_shift;
}

static uint32_t line_last(const struct ns_memory *memory, uint32_t address,
                          size_t bytes)
{
    return (uint32_t)((address + bytes - 1) >> memory->line_shift);
}

static uint32_t lines_count(const struct ns_memory *memory, uint32_t address,
                            size_t bytes, uint8_t mask, uint8_t value)
{
    uint32_t count = 0;

    if (bytes == 0) {
        return 0;
    }
    for (uint32_t i = line_first(memory, address);
         i <= line_last(memory, address, bytes); i++) {
        count += (memory->lines[i] & mask) == value;
    }
    return count;
}

uint32_t ns_memory_misses(const struct ns_memory *memory, uint32_t address,
                          size_t bytes)
{
    return lines_count(memory, address, bytes, LINE_VALID, 0);
}

uint32_t ns_memory_dirty(const struct ns_memory *memory, uint32_t address,
                         size_t bytes)
{
    return lines_count(memory, address, bytes, LINE_DIRTY, LINE_DIRTY);
}

uint32_t ns_memory_lines(const struct ns_memory *memory, uint32_t address,
                         size_t bytes)
{
    return lines_count(memory, address, bytes, 0, 0);
}

static bool line_covered(const struct ns_memory *memory, uint32_t line,
                         uint32_t address, size_t bytes)
{
    uint64_t start = (uint64_t)line * memory->line_bytes;

    return start >= address &&
           start + memory->line_bytes <= (uint64_t)address + bytes;
}

uint32_t ns_memory_store_misses(const struct ns_memory *memory,
                                uint32_t address, size_t bytes)
{
    uint32_t count = 0;

    if (bytes == 0) {
        return 0;
    }
    for (uint32_t i = line_first(memory, address);
         i <= line_last(memory, address, bytes); i++) {
        count += (memory->lines[i] & LINE_VALID) == 0 &&
                 !line_covered(memory, i, address, bytes);
    }
    return count;
}

/* Mark all lines of the range. */
static void lines_set(struct ns_memory *memory, uint32_t address, size_t bytes,
                      uint8_t flags)
{
    uint32_t first = line_first(memory, address);

    memset(memory->lines + first, flags,
           line_last(memory, address, bytes) - first + 1);
}

/* Bring all lines of the range into the cache; how many were not there. */
static uint32_t lines_fetch(struct ns_memory *memory, uint32_t address,
                            size_t bytes)
{
    uint32_t count = 0;

    for (uint32_t i = line_first(memory, address);
         i <= line_last(memory, address, bytes); i++) {
        if ((memory->lines[i] & LINE_VALID) == 0) {
            size_t at = (size_t)i * memory->line_bytes;

            if (!memory->coherent) {
                memcpy(memory->cache + at, memory->memory + at,
                       memory->line_bytes);
            }
            memory->lines[i] = LINE_VALID;
            count++;
        }
    }
    return count;
}

uint32_t ns_memory_load(struct ns_memory *memory, uint32_t address, void *to,
                        size_t bytes)
{
    uint32_t fetched = 0;

    NS_CHECK(ns_memory_holds(memory, address, bytes));
    if (bytes > 0) {
        fetched = lines_fetch(memory, address, bytes);
        memcpy(to, memory->cache + address, bytes);
    }
    return fetched;
}

void ns_memory_store(struct ns_memory *memory, uint32_t address,
                     const void *from, size_t bytes)
{
    NS_CHECK(ns_memory_holds(memory, address, bytes));
    if (bytes == 0) {
        return;
    }
    /* Whole lines would need no fetch; their old bytes are overwritten. */
    (void)lines_fetch(memory, address, bytes);
    memcpy(memory->cache + address, from, bytes);
    lines_set(memory, address, bytes, LINE_VALID | LINE_DIRTY);
}

/* Write what has changed back to memory. */
static void lines_back(struct ns_memory *memory, uint32_t address, size_t bytes)
{
    for (uint32_t i = line_first(memory, address);
         i <= line_last(memory, address, bytes); i++) {
        size_t at = (size_t)i * memory->line_bytes;

        if ((memory->lines[i] & LINE_DIRTY) != 0) {
            memcpy(memory->memory + at, memory->cache + at, memory->line_bytes);
        }
    }
}

void ns_memory_flush(struct ns_memory *memory, uint32_t address, size_t bytes)
{
    NS_CHECK(ns_memory_holds(memory, address, bytes));
    if (bytes == 0) {
        return;
    }
    if (!memory->coherent) {
        lines_back(memory, address, bytes);
    }
    lines_set(memory, address, bytes, 0);
}

/* ------------------------------------------------------------ the NIC's side */

bool ns_memory_own_read(const struct ns_memory *memory, uint64_t address,
                        void *to, size_t bytes)
{
    void *at = (void *)(uintptr_t)address;
    const struct iovec local = {to, bytes}, remote = {at, bytes};

    if (memory->process == 0) {
        memcpy(to, at, bytes);
        return true;
    }
    if (process_vm_readv(memory->process, &local, 1, &remote, 1, 0) ==
        (ssize_t)bytes) {
        return true;
    }
    memset(to, 0, bytes);
    return false;
}

bool ns_memory_own_write(const struct ns_memory *memory, uint64_t address,
                         const void *from, size_t bytes)
{
    void *at = (void *)(uintptr_t)address;
    const struct iovec local = {(void *)(uintptr_t)from, bytes};
    const struct iovec remote = {at, bytes};

    if (memory->process == 0) {
        memcpy(at, from, bytes);
        return true;
    }
    return process_vm_writev(memory->process, &local, 1, &remote, 1, 0) ==
           (ssize_t)bytes;
}

void ns_memory_dma_read(struct ns_memory *memory, uint32_t address, void *to,
                        size_t bytes)
{
    uint64_t own = pinned(memory, address, bytes);

    memory->touches++;
    memory->changes += memory->coherent; /* lines leave the cache */
    if (own != 0) {
        (void)ns_memory_own_read(memory, own, to, bytes);
        return;
    }
    NS_CHECK(ns_memory_holds(memory, address, bytes));
    if (memory->coherent) {
        ns_memory_flush(memory, address, bytes);
    }
    memcpy(to, memory->memory + address, bytes);
}

void ns_memory_dma_write(struct ns_memory *memory, uint32_t address,
                         const void *from, size_t bytes)
{
    uint64_t own = pinned(memory, address, bytes);

    memory->touches++;
    memory->changes++;
    if (own != 0) {
        (void)ns_memory_own_write(memory, own, from, bytes);
        return;
    }
    NS_CHECK(ns_memory_holds(memory, address, bytes));
    if (memory->coherent) {
        ns_memory_flush(memory, address, bytes);
    }
    memcpy(memory->memory + address, from, bytes);
}
