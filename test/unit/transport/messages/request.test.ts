/** A request without hits counts as one, and empty keys and values are accepted. */

import { HITS_MAX } from '../../../../src/domain/descriptor/descriptor';
import { toRequest } from '../../../../src/server/transport/messages/request';
import type { WireDescriptor } from '../../../../src/server/transport/messages/wire';

function hitsOf(descriptor: WireDescriptor, requestHits = 4): number | undefined {
  return toRequest({ domain: 'd', descriptors: [descriptor], hits_addend: requestHits }).descriptors[0]?.hits;
}

describe('toRequest', () => {
  it('toRequest counts 1 if the request has 0 or nothing', () => {
    expect(toRequest({ domain: 'd', descriptors: [{}] }).hits).toBe(1);
    expect(toRequest({ domain: 'd', descriptors: [{}], hits_addend: 0 }).hits).toBe(1);
  });

  it.each<[string, WireDescriptor, number | undefined]>([
    ['nothing: those of the request', {}, undefined],
    ['a present 0: a peek', { hits_addend: { value: '0' } }, 0],
    ['an empty wrapper: a peek', { hits_addend: {} }, 0],
    ['a refund', { hits_addend: { value: '7' }, is_negative_hits: true }, -7],
    ['a refund of nothing: a peek, not -0', { hits_addend: { value: '0' }, is_negative_hits: true }, 0],
    ['a refund without a number: those of the request', { is_negative_hits: true }, -4],
    ['2^64 - 1', { hits_addend: { value: '18446744073709551615' } }, HITS_MAX],
    ['a refund of 2^64 - 1', { hits_addend: { value: '18446744073709551615' }, is_negative_hits: true }, -HITS_MAX],
  ])('toRequest reads %s', (_name, descriptor, hits) => {
    expect(hitsOf(descriptor)).toBe(hits);
  });

  it('toRequest accepts empty entries, keys and values', () => {
    expect(toRequest({ domain: 'd', descriptors: [{}, { entries: [{}] }] }).descriptors).toEqual([
      { entries: [] },
      { entries: [{ key: '', value: '' }] },
    ]);
  });
});
