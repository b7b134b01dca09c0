/** Reads the YAML of a set in a thread of its own: others have their turn meanwhile, and a text that takes all memory ends that thread alone. */

import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ConfigDocument, ReadDocument } from './config-document';
import { ConfigError } from './config-error';
import { PieceCollector, type DocumentPiece } from './document-pieces';
import type { ConfigFile } from './yaml-text';

/** Characters of a set that is read for some seconds, in some hundred MiB of memory. */
const LARGE_SET = 4 * 1024 * 1024;

/**
 * The same documents, none of them as text.
 *
 * @throws ConfigError if the thread came to its end before that of the texts
 */
export async function readDocuments(documents: readonly ConfigDocument[]): Promise<readonly ReadDocument[]> {
  const texts = documents.filter((document) => 'text' in document);
  const read = (texts.length === 0 ? [] : await readInThread(texts).catch(refuse)).values();
  return documents.flatMap((document) => ('text' in document ? (read.next().value ?? []) : document));
}

/** As `readDocuments` if they are large together; where nothing waits for it, a thread is not worth its start for others. */
export async function readIfLarge(documents: readonly ConfigDocument[]): Promise<readonly ConfigDocument[]> {
  const length = documents.reduce((sum, document) => sum + ('text' in document ? document.text.length : 0), 0);
  return length > LARGE_SET ? readDocuments(documents) : documents;
}

/** A thread may run out of memory, or not begin: that is the set's fault, and what is in force stays. */
function refuse(error: unknown): never {
  const message = `could not be read in a thread of its own: ${String(error)}; give Weir more memory, or make the files smaller`;
  throw new ConfigError([{ file: 'the configuration', line: 0, column: 0, path: '', message }]);
}

async function readInThread(files: readonly ConfigFile[]): Promise<readonly ReadDocument[]> {
  const thread = new Worker(path.join(__dirname, 'read-thread.js'), { workerData: files });
  const collector = new PieceCollector();
  return new Promise((resolve, reject) => {
    thread.on('message', (piece: DocumentPiece) => {
      collector.add(piece);
      // Whatever waits is done before the next one is there.
      setImmediate(() => { thread.postMessage('next'); });
    });
    thread.on('error', reject);
    thread.on('exit', () => { resolve(collector.finish()); });
    thread.postMessage('next');
  });
}
