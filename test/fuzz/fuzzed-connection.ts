/** One connection of the lean transport in this process: fed by a frame source, answered at random times and sizes, checked as it speaks. */

import { isDeepStrictEqual } from 'node:util';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import type { DescriptorStatus } from '../../src/domain/decide/decision';
import type { Answer, ReadRequest } from '../../src/server/transport/answer';
import type { AnswerStream, GrpcMethod, MethodAnswer, RequestReader } from '../../src/server/transport/grpc/grpc-method';
import { ByteBudget } from '../../src/server/transport/byte-budget';
import { Connection } from '../../src/server/transport/http2/connection/connection';
import { FRAME_HEADER_BYTES, FrameType, PREFACE } from '../../src/server/transport/http2/frames/frames';
import type { GatheredCall } from '../../src/server/transport/http2/calls/gathered-calls';
import { openMethodCall } from '../../src/server/transport/http2/calls/method-call';
import { RateLimitCall } from '../../src/server/transport/http2/calls/rate-limit-call';
import { refuseLarge, refuseOtherHttp } from '../../src/server/transport/http2/calls/refusal';
import { RequestCache } from '../../src/server/transport/messages/request-cache';
import { TurnQueue } from '../../src/server/transport/turn-queue';
import { toRequest } from '../../src/server/transport/messages/request';
import type { Random } from '../support/random/random';
import { until } from '../support/clock/until';
import { frame, setting, uint32 } from '../unit/transport/http2/peer';
import { AnswerCheck } from './answer-check';
import { FrameSource, OTHER_PATHS, REQUEST, type Temper } from './frame-source';

/** Frames that a connection lives for, at most; one in so many lives long enough to use up its windows several times. */
const LIFE_FRAMES = 2000;
const LONG_LIFE_FRAMES = 30_000;
const LONG_LIFE_OF = 40;

const STATUS: DescriptorStatus = { code: 'OK', limitRemaining: 7, durationUntilResetUs: 1, fits: true, denies: false };

/** Statuses of an answer that is larger than a frame. */
const MANY_STATUSES = 3000;

/** What a polite peer asks; sent more than once, it is marked as one that recurs. */
const ASKED = [toRequest(REQUEST), { ...toRequest(REQUEST), recurs: true }];

export interface FuzzedConnectionParts {
  readonly random: Random;
  readonly temper: Temper;
  readonly budget: ByteBudget;
}

export class FuzzedConnection {
  frames = 0;
  private nowMs = 0;
  private readonly random: Random;
  private readonly source: FrameSource;
  private readonly check = new AnswerCheck();
  private readonly requests = new RequestCache();
  private readonly turns = new TurnQueue();
  /** Each call is answered at a time of its own. */
  private readonly calls = {
    add: (call: GatheredCall, asked: ReadRequest) =>
      void this.answer(asked).then((answer) => {
        call.onAnswer(answer, this.nowMs);
      }),
  };
  private readonly connection: Connection;
  private readonly faults: unknown[] = [];
  private readonly life: number;
  /** What is done later: answers, and windows given back. */
  private readonly later: (() => void)[] = [];

  constructor(private readonly parts: FuzzedConnectionParts) {
    this.random = parts.random;
    this.source = new FrameSource(parts.random, parts.temper);
    this.life = 1 + this.random(this.random(LONG_LIFE_OF) === 0 ? LONG_LIFE_FRAMES : LIFE_FRAMES);
    this.connection = new Connection({
      waiting: new ByteBudget(),
      nowMs: () => this.nowMs,
      onFault: (error) => this.faults.push(error),
      onOutput: () => undefined,
      open: (connection, stream, head) => {
        if (head.kind === 'too_large') return refuseLarge(connection, stream);
        if (head.kind === 'no_grpc') return refuseOtherHttp(connection, stream, head);
        if (head.kind !== 'rate_limit')
          return openMethodCall(
            {
              methods: this.methods,
              budget: parts.budget,
              turns: this.turns,
              readMs: () => this.nowMs,
              onFault: (error) => this.faults.push(error),
            },
            { connection, stream, head },
          );
        const callParts = {
          calls: this.calls,
          requests: this.requests,
          budget: parts.budget,
          readMs: () => this.nowMs,
          onAnswer: () => undefined,
          onFault: (error: unknown) => this.faults.push(error),
          tracer: undefined,
        };
        return new RateLimitCall(callParts, { connection, stream, head });
      },
    });
    const first = this.source.settings();
    this.check.sent(first);
    this.connection.push(Buffer.concat([PREFACE, first]));
  }

  /** Some frames more; whether there are any left. */
  async step(): Promise<boolean> {
    const chunk: Buffer[] = [];
    for (let count = 1 + this.random(20); count > 0; count -= 1) chunk.push(this.next());
    this.feed(Buffer.concat(chunk));
    this.nowMs += this.random(20);
    if (this.random(4) === 0) this.connection.endLate(this.nowMs);
    for (let count = this.random(this.later.length + 1); count > 0; count -= 1) this.later.shift()?.();
    if (this.random(400) === 0) this.connection.startDrain();
    // Answers come in a later turn, as they do from a store.
    await Promise.resolve();
    this.read();
    return this.frames < this.life && !this.connection.isClosed;
  }

  /** The client sends what is left, opens all windows, and waits: every call has its answer now, or the connection has said why not. */
  async finish(): Promise<void> {
    for (const one of this.source.finish()) this.feed(this.count(one));
    if (!this.connection.isClosed && this.parts.temper === 'polite')
      this.feed(
        Buffer.concat([
          this.count(frame(FrameType.SETTINGS, 0, setting(4, 2 ** 24))),
          this.count(frame(FrameType.WINDOW_UPDATE, 0, uint32(2 ** 28))),
        ]),
      );
    for (let turn = 0; turn < 100 && (turn < 3 || this.later.length > 0); turn += 1) {
      for (const act of this.later.splice(0)) act();
      this.read();
      await turnOfTheLoop();
    }
    this.read();
    const { connection, check } = this;
    if (this.faults.length > 0) throw new Error('a fault', { cause: this.faults[0] });
    if (this.parts.temper === 'polite') {
      if (connection.isClosed) throw new Error(`a polite client was sent away, with code ${String(check.goaway)}`);
      if (check.waiting > 0) throw new Error(`${check.waiting} calls were never answered`);
    }
    if (connection.isClosed && (check.goaway ?? 0) === 0) throw new Error('closed without a word');
    connection.close();
    // Calls under way learn of it when they are decided, and a message that a thread unpacks when the thread is done.
    for (const act of this.later.splice(0)) act();
    await turnOfTheLoop();
    await until(() => connection.load === 0);
  }

  private next(): Buffer {
    return this.count(this.source.next(this.check.waiting));
  }

  private count(one: Buffer): Buffer {
    this.frames += 1;
    if (this.parts.temper !== 'hostile') this.check.sent(one);
    return one;
  }

  /** In pieces of any size, as a network would. */
  private feed(bytes: Buffer): void {
    if (this.random(3) > 0) {
      this.connection.push(bytes);
      return;
    }
    for (let at = 0; at < bytes.length;) {
      const size = 1 + this.random(this.random(2) === 0 ? 20 : 3000);
      // A copy, since the transport may keep what it was not given.
      const piece = Buffer.from(bytes.subarray(at, at + size));
      this.connection.push(piece);
      piece.fill(0xff);
      at += size;
    }
  }

  private read(): void {
    const output = this.connection.takeOutput();
    if (this.parts.temper === 'hostile') this.readLast(output);
    else this.check.received(output);
  }

  /** Of what is said to a hostile client only that it is frames, and that the last word is the last. */
  private readLast(output: Buffer): void {
    for (let at = 0; at < output.length;) {
      if (this.check.goaway !== undefined && this.check.goaway !== 0) throw new Error('a frame after the GOAWAY that ended the connection');
      const length = output.readUIntBE(at, 3);
      if (output[at + 3] === FrameType.GOAWAY) this.check.goaway = output.readUInt32BE(at + FRAME_HEADER_BYTES + 4);
      at += FRAME_HEADER_BYTES + length;
      if (at > output.length) throw new Error('half a frame was written');
    }
  }

  private answer(asked: ReadRequest): Promise<Answer> {
    if (this.parts.temper === 'polite' && !ASKED.some((request) => isDeepStrictEqual(asked, request)))
      this.faults.push(new Error('a call has another message than it was sent with'));
    const answer = this.anyAnswer();
    if (this.random(3) > 0) return Promise.resolve(answer);
    return new Promise((resolve) => {
      this.later.push(() => {
        resolve(answer);
      });
    });
  }

  private anyAnswer(): Answer {
    const dice = this.random(100);
    if (dice === 0) return { failure: { kind: 'unavailable', message: 'no store: é' } };
    return { decision: { overallCode: 'OK', statuses: Array<DescriptorStatus>(dice === 1 ? MANY_STATUSES : 1).fill(STATUS) } };
  }

  private act(action: () => void): void {
    this.later.push(action);
  }

  /** Methods of each kind at the paths of the fuzzer, which answer what they like, each at its own time. */
  private readonly methods: ReadonlyMap<string, GrpcMethod> = new Map(
    OTHER_PATHS.map((path, index): [string, GrpcMethod] => {
      const bytesMax = 30_000;
      if (index % 3 === 0) return [path, { kind: 'unary', path, bytesMax, answer: () => this.anyMethodAnswer() }];
      return [
        path,
        { kind: 'stream', requests: index % 3 === 1 ? 'one' : 'many', path, bytesMax, open: (answers) => this.openStream(answers) },
      ];
    }),
  );

  private anyMethodAnswer(): Promise<MethodAnswer> {
    const answer: MethodAnswer =
      this.random(10) === 0 ? { error: { code: status.NOT_FOUND, details: 'nothing: é' } } : { message: Buffer.alloc(this.anySize()) };
    if (this.random(3) > 0) return Promise.resolve(answer);
    return new Promise((resolve) => {
      this.act(() => {
        resolve(answer);
      });
    });
  }

  private openStream(answers: AnswerStream): RequestReader {
    let isClosed = false;
    const refuseAfterClose = (): void => {
      if (isClosed) this.faults.push(new Error('a message after the close'));
    };
    return {
      onMessage: () => {
        refuseAfterClose();
        if (answers.isFull) this.faults.push(new Error('a message while the answers are full'));
        for (let messages = this.random(4); messages > 0; messages -= 1) answers.write(Buffer.alloc(this.anySize()));
        if (this.random(30) === 0) answers.end({ code: status.FAILED_PRECONDITION, details: 'enough' });
        if (this.random(10) === 0)
          this.act(() => {
            answers.write(Buffer.alloc(this.anySize()));
          });
      },
      onEnd: () => {
        refuseAfterClose();
        this.act(() => {
          answers.end();
        });
      },
      onClose: () => {
        refuseAfterClose();
        isClosed = true;
      },
      onDrained: refuseAfterClose,
    };
  }

  private anySize(): number {
    return this.random(20) === 0 ? this.random(70_000) : this.random(100);
  }
}
