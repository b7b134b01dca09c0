/** Valid contexts of W3C Trace Context and B3 are read, and invalid ones are ignored. */

import { readParent } from '../../../../src/server/observability/tracing/trace-context';

const T = '4bf92f3577b34da6a3ce929d0e0e4736';
const S = '00f067aa0ba902b7';
const NONE = { ids: undefined, isSampled: undefined };

function parentOf(headers: Readonly<Record<string, string>>): ReturnType<typeof readParent> {
  return readParent((name) => headers[name]);
}

function ids(state?: string, traceId = T) {
  return { traceId, spanId: S, state };
}

test.each([
  [{}, NONE],
  [{ traceparent: `00-${T}-${S}-01` }, { ids: ids(), isSampled: true }],
  [
    { traceparent: `00-${T}-${S}-01`, tracestate: 'a=b' },
    { ids: ids('a=b'), isSampled: true },
  ],
  [
    { traceparent: `00-${T}-${S}-01`, tracestate: `a=${'b'.repeat(1_024)}` },
    { ids: ids(), isSampled: true },
  ],
  [
    { traceparent: `00-${T}-${S}-00`, tracestate: 'a=b' },
    { ids: ids(), isSampled: false },
  ],
  [{ traceparent: `00-${T}-${S}-03` }, { ids: ids(), isSampled: true }],
  // A later version may have more fields.
  [{ traceparent: `cc-${T}-${S}-01-what-the-future-brings` }, { ids: ids(), isSampled: true }],
  [{ traceparent: `00-${T}-${S}-01-more` }, NONE],
  [{ traceparent: `ff-${T}-${S}-01` }, NONE],
  [{ traceparent: `00-${T.toUpperCase()}-${S}-01` }, NONE],
  [{ traceparent: `00-${'0'.repeat(32)}-${S}-01` }, NONE],
  [{ traceparent: `00-${T}-${'0'.repeat(16)}-01` }, NONE],
  [{ traceparent: '' }, NONE],
  [{ b3: `${T}-${S}-1` }, { ids: ids(), isSampled: true }],
  [{ b3: `${T}-${S}-d-05e3ac9a4f6e3b90` }, { ids: ids(), isSampled: true }],
  [{ b3: `${T}-${S}-0` }, { ids: ids(), isSampled: false }],
  [{ b3: `${T}-${S}` }, { ids: ids(), isSampled: undefined }],
  [{ b3: `${T.slice(16)}-${S}-1` }, { ids: ids(undefined, T.slice(16).padStart(32, '0')), isSampled: true }],
  [{ b3: '0' }, { ids: undefined, isSampled: false }],
  [{ b3: 'd' }, { ids: undefined, isSampled: true }],
  [{ b3: 'nonsense' }, NONE],
  [
    { 'x-b3-traceid': T.toUpperCase(), 'x-b3-spanid': S, 'x-b3-sampled': '1' },
    { ids: ids(), isSampled: true },
  ],
  [
    { 'x-b3-traceid': T, 'x-b3-spanid': S, 'x-b3-sampled': 'true' },
    { ids: ids(), isSampled: true },
  ],
  [
    { 'x-b3-traceid': T, 'x-b3-spanid': S, 'x-b3-sampled': '0' },
    { ids: ids(), isSampled: false },
  ],
  [
    { 'x-b3-traceid': T, 'x-b3-spanid': S, 'x-b3-flags': '1' },
    { ids: ids(), isSampled: true },
  ],
  [
    { 'x-b3-traceid': T, 'x-b3-spanid': S },
    { ids: ids(), isSampled: undefined },
  ],
  [
    { 'x-b3-traceid': 'x', 'x-b3-spanid': S, 'x-b3-sampled': '1' },
    { ids: undefined, isSampled: true },
  ],
  [{ 'x-b3-sampled': '0' }, { ids: undefined, isSampled: false }],
  [
    { traceparent: `00-${T}-${S}-00`, b3: `${T}-${S}-1` },
    { ids: ids(), isSampled: false },
  ],
  [
    { traceparent: 'broken', b3: `${T}-${S}-1` },
    { ids: ids(), isSampled: true },
  ],
])('%j is read as %j', (headers, parent) => {
  expect(parentOf(headers)).toEqual(parent);
});
