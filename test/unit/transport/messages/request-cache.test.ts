/** The request cache is bounded, and identical bytes mean the same in any order and company. */

import type { RateLimitRequest } from '../../../../src/domain/descriptor/descriptor';
import { BadRequestError } from '../../../../src/lib/errors';
import {
  CACHED_BYTES_MAX,
  CACHED_DESCRIPTORS_MAX,
  CACHED_MESSAGE_BYTES_MAX,
  RequestCache,
} from '../../../../src/server/transport/messages/request-cache';
import { loadProto } from '../../../../src/server/transport/messages/proto';
import type { WireDescriptor } from '../../../../src/server/transport/messages/wire';
import { expectSame } from '../../../support/random/expect-same';
import { randomFrom } from '../../../support/random/random';

const { requestSerialize } = loadProto().rateLimit.ShouldRateLimit;

function messageOf(value: string, others: readonly WireDescriptor[] = []): Buffer {
  return requestSerialize({ domain: 'd', descriptors: [{ entries: [{ key: 'user', value }] }, ...others] });
}

function valueOf(request: RateLimitRequest | BadRequestError): string | undefined {
  return request instanceof BadRequestError ? undefined : request.descriptors[0]?.entries[0]?.value;
}

function withoutMark({ domain, descriptors, hits }: RateLimitRequest): RateLimitRequest {
  return { domain, descriptors, hits };
}

/** Known after the second time. */
function makeKnown(requests: RequestCache, message: Buffer): RateLimitRequest | BadRequestError {
  requests.read(message);
  return requests.read(message);
}

test('from its second time on a message is one object, which recurs', () => {
  const requests = new RequestCache();
  const first = requests.read(messageOf('u'));
  expect(first).toEqual({ domain: 'd', descriptors: [{ entries: [{ key: 'user', value: 'u' }] }], hits: 1 });
  expect(requests.size).toBe(0);
  const second = requests.read(messageOf('u'));
  expect(second).toEqual({ domain: 'd', descriptors: [{ entries: [{ key: 'user', value: 'u' }] }], hits: 1, recurs: true });
  expect(requests.read(messageOf('u'))).toBe(second);
  expect(requests.read(messageOf('v'))).not.toBe(second);
  expect(requests.size).toBe(1);
});

test('an invalid message, and one that is too long, is read again each time', () => {
  const requests = new RequestCache();
  const bad = makeKnown(requests, requestSerialize({ domain: '' }));
  expect(bad).toEqual(new BadRequestError('rate limit domain must not be empty'));
  expect(makeKnown(requests, Buffer.from('\xff\xff', 'latin1'))).toBeInstanceOf(BadRequestError);
  const length = CACHED_MESSAGE_BYTES_MAX - messageOf('').length;
  expect(makeKnown(requests, messageOf('x'.repeat(length)))).not.toHaveProperty('recurs');
  expect(requests.size).toBe(0);
  makeKnown(requests, messageOf('x'.repeat(length - 10)));
  expect(requests.size).toBe(1);
});

test('random and damaged messages among others read as without a cache', () => {
  const random = randomFrom();
  const requests = new RequestCache();
  const messages = Array.from({ length: 200 }, (_, i) => {
    const message = messageOf(
      `user-${i % 150}`,
      random(3) === 0 ? [{ hits_addend: { value: String(random(3)) }, is_negative_hits: random(2) === 0 }] : [],
    );
    // Damaged here and there: what is refused once is refused each time, and bytes that differ in one bit are told apart.
    if (random(3) === 0) message[random(message.length)]! ^= 1 << random(8);
    return message;
  });
  let known = 0;
  for (let step = 0; step < 3000; step += 1) {
    const message = messages[random(messages.length)]!;
    const [before, after] = [Buffer.alloc(random(20), 0xaa), Buffer.alloc(random(20), 0x0a)];
    const read = requests.read(Buffer.concat([before, message, after]), before.length, before.length + message.length);
    const anew = new RequestCache().read(message);
    if (read instanceof BadRequestError) {
      expectSame(read, anew);
    } else {
      if (read.recurs === true) known += 1;
      expectSame(withoutMark(read), anew);
    }
  }
  expect(known).toBeGreaterThan(1000);
});

test('a flood of fresh messages leaves nothing behind, and evicts no active caller', () => {
  const requests = new RequestCache();
  const hot = makeKnown(requests, messageOf('hot'));
  for (let i = 0; i < 50_000; i += 1) requests.read(messageOf(`fresh-${i}`));
  expect(requests.size).toBeLessThan(10);
  expect(requests.read(messageOf('hot'))).toBe(hot);
});

test('the cache keeps to its bounds when all messages come twice, and keeps recurring ones', () => {
  const requests = new RequestCache();
  const hot = makeKnown(requests, messageOf('hot'));
  let most = 0;
  for (let i = 0; i < 40_000; i += 1) {
    makeKnown(requests, messageOf(`twice-${i}`));
    most = Math.max(most, requests.size);
    if (i % 1000 === 0) expect(requests.read(messageOf('hot'))).toBe(hot);
  }
  expect(most).toBeLessThanOrEqual(CACHED_DESCRIPTORS_MAX);
  expect(requests.size).toBeGreaterThan(CACHED_DESCRIPTORS_MAX / 2);
});

test.each([
  ['of many descriptors', (i: number) => messageOf(`many-${i}`, Array<WireDescriptor>(31).fill({})), CACHED_DESCRIPTORS_MAX / 32],
  ['of many bytes', (i: number) => messageOf(`${i}`.padStart(1000, '.')), CACHED_BYTES_MAX / 1000],
])('the cache holds fewer messages %s', (_what, message, most) => {
  const requests = new RequestCache();
  for (let i = 0; i < 2600; i += 1) makeKnown(requests, message(i));
  expect(requests.size).toBeLessThanOrEqual(most);
  expect(requests.size).toBeGreaterThan(most / 3);
});

test('each message gets its own value, also among messages that differ in one byte', () => {
  const requests = new RequestCache();
  for (let round = 0; round < 4; round += 1) {
    for (let i = 0; i < 256; i += 1) {
      const message = messageOf('?');
      message[message.indexOf('?')] = i;
      expect(valueOf(requests.read(message))).toBe(String.fromCharCode(i));
    }
  }
});
