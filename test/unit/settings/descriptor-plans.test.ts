/** A mistake in CHECK_DESCRIPTORS is reported with its descriptor, entry and fix. */

import { chooseCheck, type CheckSettings } from '../../../src/configuration/settings/check-choice';
import { descriptorPlans } from '../../../src/configuration/settings/table/descriptor-plans';

test('descriptors end at semicolons, entries at commas, and an absent value follows |', () => {
  expect(descriptorPlans().parse('path=path, client = client_ip ;tenant=header:X-Tenant|no tenant, v=text:a=b;')).toEqual({
    value: [
      [
        { key: 'path', source: { from: 'path' }, absent: 'anonymous' },
        { key: 'client', source: { from: 'client_ip' }, absent: 'anonymous' },
      ],
      [
        { key: 'tenant', source: { from: 'header', name: 'x-tenant' }, absent: 'no tenant' },
        { key: 'v', source: { from: 'text', text: 'a=b' }, absent: 'anonymous' },
      ],
    ],
  });
});

test.each([
  ['path', 'descriptor 1: "path" is not KEY=SOURCE, such as client=client_ip'],
  ['=path', 'descriptor 1: "=path" is not KEY=SOURCE, such as client=client_ip'],
  ['a=path;;b=path', 'descriptor 2: an entry is empty; remove the extra comma or semicolon'],
  ['a=path,', 'descriptor 1: an entry is empty; remove the extra comma or semicolon'],
  ['a=path; b=ip', 'descriptor 2: "ip" is not a source; use path, method, host, client_ip, header:NAME, query:NAME or text:TEXT'],
  ['a=header:', 'descriptor 1: "" is not the name of a header'],
  ['a=header:x tenant', 'descriptor 1: "x tenant" is not the name of a header'],
  ['a=query:', 'descriptor 1: "" is not the name of a parameter'],
  ['a=query:deny', 'descriptor 1: query:deny is the status of a denial; choose another name'],
  ['a=text:', 'descriptor 1: text: needs a text of at most 256 characters'],
  ['a=text:b|c', 'descriptor 1: "a=text:b|c" has a value after |, but a text is never absent; remove it'],
  ['a=path|', 'descriptor 1: "a=path|" needs a value after |, of at most 256 characters without , ; and |'],
  ['a=path|b|c', 'descriptor 1: "a=path|b|c" needs a value after |, of at most 256 characters without , ; and |'],
  [Array.from({ length: 129 }, () => 'a=path').join(';'), 'it has 129 descriptors; at most 128 are possible'],
  [Array.from({ length: 65 }, () => 'a=path').join(','), 'descriptor 1: it has 65 entries; at most 64 are possible'],
])('%s is refused', (written, refusal) => {
  expect(descriptorPlans().parse(written)).toEqual({ refusal });
});

describe('chooseCheck', () => {
  const settings: CheckSettings = { checkDomain: undefined, checkDescriptors: undefined, checkTrustedHops: 1, checkHitsHeader: 'X-Cost' };
  const descriptors = [[{ key: 'a', source: { from: 'path' }, absent: 'anonymous' }]] as const;

  test('/check is served if there are a domain and descriptors', () => {
    expect(chooseCheck(settings)).toBeUndefined();
    expect(chooseCheck({ ...settings, checkDomain: 'shöp', checkDescriptors: descriptors })).toEqual({
      domain: 'sh\xc3\xb6p',
      descriptors,
      trustedHops: 1,
      hitsHeader: 'x-cost',
    });
  });

  test('one without the other is an error', () => {
    expect(() => chooseCheck({ ...settings, checkDomain: 'shop' })).toThrow(/CHECK_DESCRIPTORS.*set both, or none/);
    expect(() => chooseCheck({ ...settings, checkDescriptors: descriptors })).toThrow(/CHECK_DOMAIN.*set both, or none/);
  });
});
