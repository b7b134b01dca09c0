/** A certificate that has ended is in health and once in the log, until it is renewed. */

import { EndedCertificates } from '../../../src/server/observability/ended-certificates';
import { Health } from '../../../src/server/observability/health';

const END_S = 1_800_000_000;

test('a certificate that has ended is in health and once in the log, until it is renewed', () => {
  let nowMs = END_S * 1_000 - 1;
  const health = new Health();
  const lines: string[] = [];
  const log = {
    error: (_event: unknown, text?: string) => {
      lines.push(text ?? '');
    },
  };
  const ended = new EndedCertificates({ health, log, nowMs: () => nowMs });
  const showBoth = (endsAtS: number) => {
    ended.show('GRPC_SERVER_TLS_CERT', endsAtS);
    ended.show('ADMIN_TLS_CERT', END_S + 10);
  };
  showBoth(END_S);
  expect([health.degradations, lines]).toEqual([[], []]);
  nowMs += 1;
  for (let looked = 0; looked < 3; looked += 1) showBoth(END_S);
  expect(health.degradations).toEqual(['certificate: ended']);
  expect(lines).toEqual(['the certificate of GRPC_SERVER_TLS_CERT ended at 2027-01-15T08:00:00.000Z; renew the file']);
  nowMs += 10_000;
  showBoth(END_S);
  expect(lines).toHaveLength(2);
  showBoth(END_S + 86_400);
  expect(health.degradations).toEqual(['certificate: ended']);
  ended.show('ADMIN_TLS_CERT', END_S + 86_400);
  expect(health.degradations).toEqual([]);
});
