/**
 * Tells how much memory the process uses that it is preloaded into (`node --expose-gc --require`), without garbage.
 *
 * A client of the socket MEMORY_WATCH receives one line of JSON, `{"usedBytes":31000000,"rssBytes":90000000}`: the heap and the buffers of
 * the main thread, which decides, and the resident memory of the process, both after a collection.
 */
'use strict';

const { createServer } = require('node:net');
const { isMainThread } = require('node:worker_threads');

if (isMainThread) {
  createServer((socket) => {
    socket.on('error', () => undefined);
    // What a first collection finalizes, a second one frees.
    global.gc?.();
    global.gc?.();
    const { heapUsed, external, rss } = process.memoryUsage();
    socket.end(`${JSON.stringify({ usedBytes: heapUsed + external, rssBytes: rss })}\n`);
  })
    .listen(process.env.MEMORY_WATCH)
    .unref();
}
