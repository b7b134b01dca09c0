/**
 * Watches the event loop of the process that it is preloaded into (`node --require`): how long its turns were, in processor time of this
 * thread. So neither other processes nor the host of a virtual machine make a turn longer. Run it
 * with `--expose-gc`: each count begins with a heap without garbage.
 *
 * A client of the socket LOOP_WATCH receives one line of JSON, `{"longestMs":1.5,"turns":70}`, and begins a new count.
 */
'use strict';

const { Buffer } = require('node:buffer');
const { openSync, readSync } = require('node:fs');
const { createServer } = require('node:net');
const { setImmediate } = require('node:timers');
const { isMainThread } = require('node:worker_threads');

/** Milliseconds between two turns: the kernel counts a thread's time when it goes to sleep, and the watch keeps no processor busy. */
const PAUSE_MS = 0.2;

const cell = new Int32Array(new SharedArrayBuffer(4));
const bytes = Buffer.alloc(128);
const schedstat = openSync('/proc/self/schedstat', 'r');

let longestMs = 0;
let turns = 0;

const server = createServer((socket) => {
  socket.on('error', () => undefined);
  const line = `${JSON.stringify({ longestMs, turns })}\n`;
  global.gc?.();
  // The collection is no part of the new count.
  lastMs = ranMs();
  longestMs = 0;
  turns = 0;
  socket.end(line);
});
let lastMs = ranMs();
// A thread that reads a configuration is preloaded too, and may take as long as it likes.
if (isMainThread) {
  server.listen(process.env.LOOP_WATCH).unref();
  setImmediate(look);
}

function look() {
  const nowMs = ranMs();
  longestMs = Math.max(longestMs, nowMs - lastMs);
  turns += 1;
  lastMs = nowMs;
  setImmediate(look);
}

/** Processor time of the main thread: the first number, in nanoseconds. */
function ranMs() {
  Atomics.wait(cell, 0, 0, PAUSE_MS);
  const length = readSync(schedstat, bytes, 0, bytes.length, 0);
  return Number(bytes.toString('latin1', 0, length).split(' ')[0]) / 1e6;
}
