/** Answers that wait for the windows of their callers are bounded in bytes, over all connections. */

import { ByteBudget } from '../../../../../src/server/transport/byte-budget';
import { ErrorCode } from '../../../../../src/server/transport/http2/frames/errors';
import { FrameType } from '../../../../../src/server/transport/http2/frames/frames';
import { ANSWER_HEAD, OK_TRAILERS } from '../../../../../src/server/transport/http2/calls/answer-frames';
import { frame, headers, Peer, resetOf, setting, uint32 } from '../peer';

const MESSAGE = Buffer.alloc(1_000, 1);

/** A stream that waits counts as its answer and 4 KiB. */
const WAITING_BYTES = MESSAGE.length + 5 + 4_096;

function openPeer(waiting: ByteBudget): Peer {
  const peer: Peer = new Peer(
    (connection, stream) => ({
      onData: () => undefined,
      onEnd: () => {
        connection.answer(stream, { head: ANSWER_HEAD, message: MESSAGE, trailers: OK_TRAILERS });
      },
      onReset: (code) => peer.resets.push({ streamId: stream.id, code }),
    }),
    { waiting },
  );
  return peer;
}

/** Room for this many waiting answers. */
function budgetOf(answers: number): { readonly budget: ByteBudget; readonly isEmpty: () => boolean } {
  const budget = new ByteBudget(answers * WAITING_BYTES);
  const isEmpty = (): boolean => {
    const isFree = budget.take(answers * WAITING_BYTES);
    if (isFree) budget.giveBack(answers * WAITING_BYTES);
    return isFree;
  };
  return { budget, isEmpty };
}

test('beyond the bound of all connections, streams whose peers open no window are reset, and others go on', () => {
  const { budget, isEmpty } = budgetOf(3);
  const closed = [openPeer(budget), openPeer(budget)];
  for (const peer of closed) peer.send(frame(FrameType.SETTINGS, 0, setting(4, 0)));
  expect(resetOf(closed[0]!.send(headers(1), headers(3)), 3)).toBeUndefined();
  const answered = closed[1]!.send(headers(1), headers(3), headers(5));
  expect([1, 3, 5].map((id) => resetOf(answered, id))).toEqual([undefined, ErrorCode.ENHANCE_YOUR_CALM, ErrorCode.ENHANCE_YOUR_CALM]);
  expect(closed[1]!.resets.map(({ streamId }) => streamId)).toEqual([3, 5]);
  expect(answered.filter(({ type, streamId }) => type === FrameType.HEADERS && streamId !== 1)).toHaveLength(2);

  const open = openPeer(budget);
  expect(open.send(headers(1)).filter(({ type }) => type === FrameType.DATA)).toHaveLength(1);

  // What is sent, reset by the peer, or closed with its connection gives its room back.
  closed[0]!.send(frame(FrameType.WINDOW_UPDATE, 1, uint32(2_000)), frame(FrameType.RST_STREAM, 3, uint32(ErrorCode.CANCEL)));
  expect(isEmpty()).toBe(false);
  closed[1]!.connection.close();
  expect(isEmpty()).toBe(true);
  expect([...closed, open].flatMap(({ faults }) => faults)).toEqual([]);
});

test('an answer that is sent in parts holds what is left of it', () => {
  const { budget, isEmpty } = budgetOf(1);
  const peer = openPeer(budget);
  peer.send(frame(FrameType.SETTINGS, 0, setting(4, 100)), headers(1));
  expect(budget.take(50)).toBe(true);
  budget.giveBack(50);
  expect(budget.take(101)).toBe(false);
  peer.send(frame(FrameType.WINDOW_UPDATE, 1, uint32(500)));
  expect(budget.take(600)).toBe(true);
  budget.giveBack(600);
  const ended = peer.send(frame(FrameType.WINDOW_UPDATE, 1, uint32(500)));
  expect(ended.some(({ type, streamId }) => type === FrameType.HEADERS && streamId === 1)).toBe(true);
  expect(isEmpty()).toBe(true);
});
