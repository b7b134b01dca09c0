/** What a call of ShouldRateLimit with a constant decision costs the server by each transport: processor time, both in one run, in turns; with --tls over TLS. */

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCertificates } from '../test/support/servers/certificates';
import { StreamGenerator } from './load/stream-generator';

const isShort = process.argv.includes('--short');
const isTls = process.argv.includes('--tls');
const ROUNDS = isShort ? 3 : 7;
const ROUND_MS = isShort ? 500 : 1500;
const WARM_UP_MS = 1000;
const CONNECTIONS = 4;
const STREAMS = [64, 8, 1];
const TRANSPORTS = ['grpc-js', 'lean'] as const;

interface Running {
  readonly child: ChildProcess;
  readonly port: number;
}

async function start(transport: string, files: readonly string[]): Promise<Running> {
  const child = fork(path.join(__dirname, 'servers', 'transport-server.ts'), [transport, ...files], {
    execArgv: ['--require', path.join(__dirname, '..', 'scripts', 'process', 'load-typescript.cjs')],
  });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { child, port };
}

async function cpuUs({ child }: Running): Promise<number> {
  const answer = once(child, 'message');
  child.send('usage');
  const [{ cpu }] = (await answer) as [{ cpu: NodeJS.CpuUsage }];
  return cpu.user + cpu.system;
}

async function round(running: Running, streams: number): Promise<number> {
  const generator = new StreamGenerator({ port: running.port, connections: CONNECTIONS, streams, isTls });
  await sleep(100);
  const [doneBefore, cpuBefore] = [generator.done, await cpuUs(running)];
  await sleep(ROUND_MS);
  const [done, cpu] = [generator.done - doneBefore, (await cpuUs(running)) - cpuBefore];
  generator.stop();
  if (done === 0) throw new Error('no call was answered');
  return cpu / done;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

async function main(): Promise<void> {
  const pair = isTls ? makeCertificates().server : undefined;
  const files = pair === undefined ? [] : [pair.cert, pair.key];
  const servers = { 'grpc-js': await start('grpc-js', files), lean: await start('lean', files) };
  for (const transport of TRANSPORTS) {
    const warmUp = new StreamGenerator({ port: servers[transport].port, connections: CONNECTIONS, streams: 64, isTls });
    await sleep(WARM_UP_MS);
    warmUp.stop();
  }
  for (const streams of STREAMS) {
    const us = { 'grpc-js': [] as number[], lean: [] as number[] };
    for (let left = ROUNDS; left > 0; left--)
      for (const transport of TRANSPORTS) us[transport].push(await round(servers[transport], streams));
    const ratios = us.lean.map((lean, index) => lean / us['grpc-js'][index]!).sort((a, b) => a - b);
    console.log(
      `${CONNECTIONS} x ${streams}: grpc-js ${median(us['grpc-js']).toFixed(1)} µs, lean ${median(us.lean).toFixed(2)} µs, ` +
        `ratio ${median(ratios).toFixed(3)} (${ratios[0]!.toFixed(3)} to ${ratios.at(-1)!.toFixed(3)})`,
    );
  }
  for (const { child } of Object.values(servers)) child.disconnect();
}

void main();
