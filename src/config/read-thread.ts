/** A thread that reads YAML: it takes long for what is large, and answers would wait for it. */

import { parentPort, workerData } from 'node:worker_threads';
import { readDocument } from './config-document';
import { piecesOf } from './document-pieces';
import type { ConfigFile } from './yaml-text';

const files = workerData as readonly ConfigFile[];

function* pieces() {
  for (const file of files) yield* piecesOf(readDocument(file));
}

const waiting = pieces();

// Piece by piece, as it is asked for: whoever takes them has other things to do in between.
parentPort?.on('message', () => {
  const next = waiting.next();
  if (next.done === true) parentPort?.close();
  else parentPort?.postMessage(next.value);
});
