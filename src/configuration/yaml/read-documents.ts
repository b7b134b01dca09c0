/** Parses the YAML of a set in a thread: requests are served meanwhile, and a text that exhausts the memory ends only that thread. */

import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { ConfigDocument, ReadDocument } from './config-document';
import { ConfigError } from '../problems/config-error';
import type { ReadThreadData } from './yaml-thread';
import { piecesOf } from './text-pieces';
import type { ConfigFile } from './yaml-text';

/** Characters of a set that any parser reads in about 10 ms and 10 MiB. */
const SMALL_SET = 64 * 1024;

/** Most memory of the thread, in MiB. A MiB of YAML with aliases, or of the wrong kind, takes up to about 150 MiB. */
export const THREAD_MIB_MAX = 512;

/** Most of this process's memory limit that the thread may use. */
const THREAD_SHARE_MAX = 0.5;

/** Most time to read a set, in milliseconds; then the thread is terminated. */
export const READ_MS_MAX = 60_000;

const MIB = 1024 * 1024;

/**
 * Returns the same documents, all of them parsed.
 *
 * @throws ConfigError if the thread ended before all texts were read
 */
export async function readDocuments(documents: readonly ConfigDocument[], options: ReadThreadData = {}): Promise<readonly ReadDocument[]> {
  const texts = documents.filter((document) => 'text' in document);
  const read = (texts.length === 0 ? [] : await readInThread(texts, options)).values();
  return documents.flatMap((document) => ('text' in document ? (read.next().value ?? []) : document));
}

/** Like `readDocuments`, except that a small set stays text: at the start nothing waits, and a thread costs more than it saves. */
export async function readUnlessSmall(
  documents: readonly ConfigDocument[],
  options: ReadThreadData = {},
): Promise<readonly ConfigDocument[]> {
  const length = documents.reduce((sum, document) => sum + ('text' in document ? document.text.length : 0), 0);
  return length > SMALL_SET ? readDocuments(documents, options) : documents;
}

async function readInThread(files: readonly ConfigFile[], options: ReadThreadData): Promise<readonly ReadDocument[]> {
  const memoryMib = threadMemoryMib();
  const documents: ReadDocument[] = [];
  const thread = new Worker(path.join(__dirname, 'yaml-thread.js'), {
    workerData: options,
    resourceLimits: { maxOldGenerationSizeMb: memoryMib },
  });
  const [deadline, onLate] = deadlineAfter(READ_MS_MAX);
  try {
    for (const file of files) documents.push(await Promise.race([readOne(thread, file), onLate]));
    return documents;
  } catch (error) {
    throw refusalOf(error, { file: files[documents.length]?.name ?? 'the configuration', memoryMib });
  } finally {
    clearTimeout(deadline);
    await thread.terminate();
  }
}

class LateError extends Error {}

function deadlineAfter(ms: number): [NodeJS.Timeout, Promise<never>] {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new LateError());
    }, ms);
  });
  // The deadline may pass when nothing waits for it any more.
  late.catch(() => undefined);
  return [timer as unknown as NodeJS.Timeout, late];
}

async function readOne(thread: Worker, file: ConfigFile): Promise<ReadDocument> {
  const read = new Promise<ReadDocument>((resolve, reject) => {
    thread.removeAllListeners();
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => {
      reject(new Error('it has ended'));
    });
  });
  // The thread may fail before all pieces are sent.
  read.catch(() => undefined);
  for (const piece of piecesOf(file)) {
    thread.postMessage(piece);
    if (!piece.isLast) await nextTurn();
  }
  return read;
}

/** In MiB: the memory that the thread may use without starving the serving thread. */
function threadMemoryMib(): number {
  const all = Math.min(process.constrainedMemory() || Infinity, getHeapStatistics().heap_size_limit);
  return Math.round(Math.min(THREAD_MIB_MAX, (all * THREAD_SHARE_MAX) / MIB));
}

interface Failed {
  /** Name of the text being read. */
  readonly file: string;
  readonly memoryMib: number;
}

/** A thread that ran out of memory or time, or failed to start, rejects the set; the rules in force stay. */
function refusalOf(error: unknown, { file, memoryMib }: Failed): ConfigError {
  return new ConfigError([{ file, line: 0, column: 0, path: '', message: explain(error, memoryMib) }]);
}

function explain(error: unknown, memoryMib: number): string {
  if (error instanceof LateError)
    return `was not read within ${READ_MS_MAX / 1000} s; make it smaller, or write it without aliases and merge keys`;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return `takes more than ${memoryMib} MiB of memory to be read; make it smaller, write it without aliases and merge keys, or give Weir more memory`;
  }
  return `could not be parsed in a thread: ${String(error)}`;
}
