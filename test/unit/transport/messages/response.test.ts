/** Protobuf and JSON of an answer come from one description. */

import type { Decision } from '../../../../src/domain/decide/decision';
import type { Limit } from '../../../../src/domain/rule/limit';
import { toWireResponse } from '../../../../src/server/transport/messages/response';

function wireStatus(limitRemaining: number, durationUntilResetUs?: number): unknown {
  const status = {
    code: 'OK' as const,
    fits: true,
    denies: false,
    limitRemaining,
    ...(durationUntilResetUs === undefined ? {} : { durationUntilResetUs }),
  };
  return toWireResponse({ overallCode: 'OK', statuses: [status] }).statuses[0];
}

describe('toWireResponse', () => {
  it.each([
    [0, 0],
    [1, 1],
    [999_999, 1],
    [1_000_000, 1],
    [1_000_001, 2],
  ])('toWireResponse rounds %i µs up to %i s', (us, seconds) => {
    expect(wireStatus(1, us)).toEqual({ code: 1, limit_remaining: 1, duration_until_reset: { seconds } });
  });

  it('toWireResponse keeps the remaining hits within uint32', () => {
    expect(wireStatus(2 ** 33)).toEqual({ code: 1, limit_remaining: 2 ** 32 - 1 });
    expect(wireStatus(-1)).toEqual({ code: 1, limit_remaining: 0 });
  });

  it('reads every field from the decision', () => {
    const limit: Limit = {
      requestsPerUnit: 7,
      unit: 'week',
      unitMultiplier: 2,
      name: 'n',
      algorithm: 'token_bucket',
      windowUs: 1,
      capacity: 9,
    };
    const denied = {
      code: 'OVER_LIMIT',
      currentLimit: limit,
      limitRemaining: 3,
      durationUntilResetUs: 1,
      fits: false,
      denies: true,
    } as const;
    const allowed = {
      code: 'OK',
      currentLimit: { ...limit, name: '', unitMultiplier: 1 },
      limitRemaining: 4,
      fits: true,
      denies: false,
    } as const;
    const decision: Decision = {
      overallCode: 'OVER_LIMIT',
      statuses: [denied, allowed],
      headers: [{ name: 'a', value: 'b' }],
      body: 'zu spät',
      metadata: { k: ['v', null] },
    };
    expect(toWireResponse(decision)).toEqual({
      overall_code: 2,
      statuses: [
        {
          code: 2,
          current_limit: { requests_per_unit: 7, unit: 7, name: 'n', unit_multiplier: { value: 2 } },
          limit_remaining: 0,
          duration_until_reset: { seconds: 1 },
        },
        { code: 1, current_limit: { requests_per_unit: 7, unit: 7 }, limit_remaining: 4 },
      ],
      response_headers_to_add: [{ key: 'a', value: 'b' }],
      raw_body: Buffer.from('zu spät'),
      dynamic_metadata: { fields: { k: { listValue: { values: [{ stringValue: 'v' }, { nullValue: 0 }] } } } },
    });
  });

  it('marks a decision without the store', () => {
    expect(toWireResponse({ overallCode: 'OK', statuses: [], fallback: true })).toEqual({
      overall_code: 1,
      statuses: [],
      dynamic_metadata: { fields: { decided_by: { stringValue: 'fallback' } } },
    });
  });
});
