/** From a set to a rule set while answers are given: YAML is read in a thread, rules are made in slices. */

import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { compileConfig, compileInSteps, type CompileOptions } from './compile';
import type { ConfigDocument, ReadDocument } from './config-document';
import { ConfigError } from './config-error';
import { PieceCollector, type DocumentPiece } from './document-pieces';
import { inSlices } from './in-slices';
import type { RulesInForceOptions } from './rules-in-force';
import type { ConfigFile } from './yaml-text';

export type CompileSetOptions = Omit<CompileOptions, 'files' | 'problems' | 'generation'>;

/** Until there is a first rule set, nobody has an answer to wait for: all is made at once, without a thread. */
export function makeCompileSet(options: CompileSetOptions): RulesInForceOptions['compile'] {
  let isFirst = true;
  return async ({ documents, problems = [] }, generation) => {
    const rest = { ...options, problems, generation };
    const ruleSet = isFirst ? compileConfig({ ...rest, files: documents }) : await inSlices(compileInSteps({ ...rest, files: await readAll(documents) }));
    isFirst = false;
    return ruleSet;
  };
}

/** The same documents, none of them as text. */
async function readAll(documents: readonly ConfigDocument[]): Promise<readonly ReadDocument[]> {
  const texts = documents.filter((document) => 'text' in document);
  const read = (texts.length === 0 ? [] : await readInThread(texts).catch(refuse)).values();
  return documents.flatMap((document) => ('text' in document ? (read.next().value ?? []) : document));
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
