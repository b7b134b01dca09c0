/** A Weir with little memory, whose use of it can be read without garbage. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { hangLimitMs } from '../clock/hang-limit';
import { startWeir, type WeirOptions, type WeirProcess } from './weir-process';

const WATCH = path.resolve(__dirname, 'memory-watch.cjs');
const MAIN = path.resolve(__dirname, '..', '..', '..', 'dist', 'main.js');

export interface MemoryUse {
  /** Heap and buffers of the thread that decides. */
  readonly usedBytes: number;
  readonly rssBytes: number;
}

export interface WatchedWeir extends WeirProcess {
  /** After a collection. */
  memory(): Promise<MemoryUse>;
}

/** `heapMib`: the most that the heap of each of its threads may take. */
export async function startWatchedWeir({ heapMib, env, ...options }: WeirOptions & { readonly heapMib: number }): Promise<WatchedWeir> {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-memory-'));
  const socketPath = path.join(folder, 'watch');
  const flags = ['--expose-gc', `--max-old-space-size=${heapMib}`, '--require', WATCH];
  const weir = await startWeir({
    ...options,
    command: [process.execPath, ...flags, MAIN, 'serve'],
    env: { ...env, MEMORY_WATCH: socketPath },
  });
  return {
    ...weir,
    memory: () => readMemory(socketPath),
    stop: async () => {
      const code = await weir.stop();
      rmSync(folder, { recursive: true, force: true });
      return code;
    },
  };
}

function readMemory(socketPath: string): Promise<MemoryUse> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(socketPath);
    socket.setTimeout(hangLimitMs(30_000), () => socket.destroy(new Error('the memory of the process was not read')));
    socket.on('data', (data) => (text += data.toString()));
    socket.once('error', reject);
    socket.once('end', () => {
      resolve(JSON.parse(text) as MemoryUse);
    });
  });
}
