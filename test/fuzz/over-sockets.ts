/** The same frames over real sockets to a whole server: clients that stop reading, hang up or leave half-way among them. */

import { connect, type Socket } from 'node:net';
import { setImmediate as turnOfTheLoop, setTimeout as sleep } from 'node:timers/promises';
import { FRAME_HEADER_BYTES, FrameType, PREFACE } from '../../src/server/transport/http2/frames/frames';
import { randomFrom, type Random } from '../support/random/random';
import { Harness } from '../support/servers/transport-harness';
import { frame, setting, uint32 } from '../unit/transport/http2/peer';
import { AnswerCheck } from './answer-check';
import { FrameSource, REQUEST, TEMPERS } from './frame-source';

const CONNECTIONS = 16;

const LIFE_FRAMES = 1000;

/**
 * So many rounds of waiting, 10 s on a quiet machine, before the server is said to hang. On a busy machine rounds take as much
 * longer as answers do, and no time of the clock is too short.
 */
const ROUNDS_MAX = 5_000;
const ROUND_MS = 2;

/** After that the server would cut off who is left: never before the rounds are over. */
const NO_CUT_MS = 3_600_000;

export interface OverSocketsResult {
  readonly frames: number;
  readonly connections: number;
  /** Calls of a client of its own, asked while all that went on. */
  readonly asked: number;
}

/** A server that is fuzzed, in this process or in another. */
export interface FuzzedServer {
  readonly port: number;
  /** Asks for one decision by REQUEST; rejects if there is none. */
  ask(): Promise<unknown>;
  /** Drains the server, which lets go of connections that are gone. */
  stop(): Promise<unknown>;
}

export interface FuzzServerOptions {
  readonly seed: number;
  readonly isEnough: (frames: number) => boolean;
}

/** @throws Error that says what went wrong */
export async function fuzzOverSockets({ seed, frames }: { readonly seed: number; readonly frames: number }): Promise<OverSocketsResult> {
  const harness = await Harness.start('lean');
  const client = harness.client();
  const server = { port: harness.port, ask: () => harness.ask(REQUEST, { client }), stop: () => harness.stop({ timeoutMs: NO_CUT_MS }) };
  const result = await fuzzServer(server, { seed, isEnough: (sent) => sent >= frames });
  if (harness.faults.length > 0) throw new Error(`${harness.faults.length} faults`, { cause: harness.faults[0] });
  return result;
}

/** @throws Error that says what went wrong */
export async function fuzzServer(server: FuzzedServer, { seed, isEnough }: FuzzServerOptions): Promise<OverSocketsResult> {
  const random = randomFrom({ seed });
  const result = { frames: 0, connections: 0, asked: 0 };
  const isOver = { yes: false };
  const clients = Array.from({ length: CONNECTIONS }, async () => {
    while (!isEnough(result.frames) && !isOver.yes) {
      result.frames += await runClient(server.port, random(2 ** 31));
      result.connections += 1;
    }
  });
  const asking = askOn(server, isOver).catch((error: unknown) => {
    // A server that is gone has no clients that come to an end.
    isOver.yes = true;
    throw error;
  });
  try {
    await Promise.all([
      Promise.all(clients).finally(() => {
        isOver.yes = true;
      }),
      asking,
    ]);
  } finally {
    isOver.yes = true;
  }
  result.asked = await asking;
  await inRounds(server.stop(), 'the server did not let go of connections that are gone');
  return result;
}

/** Somebody who only wants decisions gets each of them. */
async function askOn(server: FuzzedServer, isOver: { readonly yes: boolean }): Promise<number> {
  let asked = 0;
  while (!isOver.yes) {
    await inRounds(server.ask(), 'somebody who only wants decisions was not answered');
    asked += 1;
    await sleep(5);
  }
  return asked;
}

/** @throws Error `otherwise`, if it has not come after so many rounds */
async function inRounds<Value>(coming: Promise<Value>, otherwise: string): Promise<Value> {
  const state = { isOver: false };
  const end = (): void => {
    state.isOver = true;
  };
  coming.then(end, end);
  for (let round = 0; round < ROUNDS_MAX && !state.isOver; round += 1) await sleep(ROUND_MS);
  if (!state.isOver) throw new Error(otherwise);
  return coming;
}

async function runClient(port: number, seed: number): Promise<number> {
  const random = randomFrom({ seed });
  const client = new FuzzedClient(connect({ port, host: '127.0.0.1', noDelay: true }), random);
  try {
    return await client.run();
  } catch (error) {
    throw new Error(`the client of seed ${seed} was wronged: ${String(error)}`, { cause: error });
  }
}

class FuzzedClient {
  private frames = 0;
  private readonly check = new AnswerCheck();
  private readonly source: FrameSource;
  private readonly isPolite: boolean;
  private rest: Buffer = Buffer.alloc(0);
  private broken: unknown;

  constructor(
    private readonly socket: Socket,
    private readonly random: Random,
  ) {
    const temper = TEMPERS[random(TEMPERS.length)]!;
    this.isPolite = temper === 'polite';
    this.source = new FrameSource(random, temper);
    socket.on('data', (chunk: Buffer) => {
      this.read(chunk);
    });
    socket.on('error', () => undefined);
  }

  async run(): Promise<number> {
    const first = this.source.settings();
    this.check.sent(first);
    this.socket.write(Buffer.concat([PREFACE, first]));
    for (const life = this.random(LIFE_FRAMES); this.frames < life && !this.isGone();) {
      this.socket.cork();
      for (let count = this.random(30); count > 0; count -= 1) this.send(this.source.next(this.check.waiting));
      this.socket.uncork();
      // Who does not read makes the server hold back.
      if (!this.isPolite && this.random(50) === 0) this.socket.pause();
      await turnOfTheLoop();
    }
    if (this.isPolite) await this.finish();
    else if (this.random(3) === 0) this.socket.end();
    this.socket.resume();
    // All are gone before the server drains: what it says then to one that goes in the middle of it, and has said that it is done, it may not
    // learn the end of for as long as a stall may take.
    if (!this.isPolite && this.random(2) === 0) await sleep(this.random(100));
    this.socket.destroy();
    return this.frames;
  }

  private async finish(): Promise<void> {
    for (const one of this.source.finish()) this.send(one);
    this.send(frame(FrameType.SETTINGS, 0, setting(4, 2 ** 24)));
    this.send(frame(FrameType.WINDOW_UPDATE, 0, uint32(2 ** 28)));
    for (let round = 0; round < ROUNDS_MAX && this.check.waiting > 0 && !this.isGone(); round += 1) await sleep(ROUND_MS);
    if (this.broken !== undefined) throw this.broken as Error;
    if (this.check.goaway !== undefined) throw new Error(`sent away, with code ${this.check.goaway}`);
    if (this.check.waiting > 0) throw new Error(`${this.check.waiting} calls were never answered`);
  }

  private isGone(): boolean {
    return this.socket.destroyed || this.socket.writableEnded || this.broken !== undefined || this.socket.readableEnded;
  }

  private send(one: Buffer): void {
    this.frames += 1;
    if (this.isPolite) this.check.sent(one);
    this.socket.write(one);
  }

  private read(chunk: Buffer): void {
    if (!this.isPolite) return;
    const bytes = Buffer.concat([this.rest, chunk]);
    let end = 0;
    while (end + FRAME_HEADER_BYTES <= bytes.length && end + FRAME_HEADER_BYTES + bytes.readUIntBE(end, 3) <= bytes.length)
      end += FRAME_HEADER_BYTES + bytes.readUIntBE(end, 3);
    this.rest = bytes.subarray(end);
    try {
      this.check.received(bytes.subarray(0, end));
    } catch (error) {
      this.broken ??= error;
    }
  }
}
