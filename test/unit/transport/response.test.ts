/** A decision in wire form: clamps and roundings. */

import { toWireResponse } from '../../../src/transport/response';

function wireStatus(limitRemaining: number, durationUntilResetUs?: number): unknown {
  const status = { code: 'OK' as const, fits: true, limitRemaining, ...(durationUntilResetUs === undefined ? {} : { durationUntilResetUs }) };
  return toWireResponse({ overallCode: 'OK', statuses: [status] }).statuses[0];
}

describe('toWireResponse', () => {
  it.each([
    [0, 0],
    [1, 1],
    [999_999, 1],
    [1_000_000, 1],
    [1_000_001, 2],
  ])('rounds %i µs up to %i s', (us, seconds) => {
    expect(wireStatus(1, us)).toEqual({ code: 1, limit_remaining: 1, duration_until_reset: { seconds } });
  });

  it('keeps what remains within uint32', () => {
    expect(wireStatus(2 ** 33)).toEqual({ code: 1, limit_remaining: 2 ** 32 - 1 });
    expect(wireStatus(-1)).toEqual({ code: 1, limit_remaining: 0 });
  });
});
