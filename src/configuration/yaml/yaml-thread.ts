/** Entry of the thread that parses YAML, because a large text would delay answers. */

import { parentPort, workerData } from 'node:worker_threads';
import { readDocument, type ReadDocument } from './config-document';
import { TextCollector, type TextPiece } from './text-pieces';

/** Options from the thread's parent. */
export interface ReadThreadData {
  /** See ProblemList. */
  readonly max?: number | undefined;
}

const { max } = workerData as ReadThreadData;
const collector = new TextCollector();

// The parent terminates the thread.
parentPort?.on('message', (piece: TextPiece) => {
  const file = collector.add(piece);
  if (file === undefined) return;
  const document = readDocument(file, { max });
  parentPort?.postMessage(document, buffersOf(document));
});

/** Buffers to transfer without a copy. */
function buffersOf({ tape, lineStarts }: ReadDocument): ArrayBuffer[] {
  const arrays = [
    ...(tape === undefined ? [] : [tape.numbers, tape.places, tape.bytes]),
    ...(lineStarts === undefined ? [] : [lineStarts]),
  ];
  return arrays.map(({ buffer }) => buffer).filter((buffer) => buffer instanceof ArrayBuffer);
}
