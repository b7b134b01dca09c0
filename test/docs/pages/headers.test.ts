/** The page of headers shows what Weir writes: its lines of headers, its metadata, its YAML, and every mode. */

import { readFileSync } from 'node:fs';
import type { Decision } from '../../../src/decide/decision';
import { additionsFor, type AdditionOptions } from '../../../src/respond/response-additions';
import { LISTED_MAX, POLICY_NAME_CHARS_MAX } from '../../../src/respond/headers/ietf-headers';
import { RESPONSE_HEADERS } from '../../../src/rule/limit';
import type { RuleSet } from '../../../src/rule/rule-set';
import { answeredOf, fits, over, type Said } from '../../support/decisions/decided-request';
import { fencedBlocks } from '../../support/docs/markdown';
import { entriesOf, levelOf, limitOf, requestOf, ruleOf, ruleSetOf } from '../../support/decisions/rules';
import { compileText } from '../../unit/compile/compile-config';

const FILE = 'docs/headers.md';
const page = readFileSync(FILE, 'utf8');

const OFF: AdditionOptions = {
  responseHeaders: 'off',
  headerNames: { limit: 'RateLimit-Limit', remaining: 'RateLimit-Remaining', reset: 'RateLimit-Reset' },
  retryAfter: undefined,
  requestMetadata: false,
  decisionMetadata: false,
};

function added(said: Said, options: Partial<AdditionOptions>): Decision {
  const ruleSet: RuleSet = { ...ruleSetOf(levelOf({})), generation: 3 };
  const add = additionsFor(ruleSet, { ...OFF, ...options });
  if (add === undefined) throw new Error('nothing is added');
  return add(answeredOf(said));
}

test('the page shows the header lines that Weir writes', () => {
  const rules = {
    search: ruleOf({ limits: [limitOf({ name: 'search', requestsPerUnit: 100, unit: 'minute' })] }),
    merchant: ruleOf({ path: ['plan_free', 'merchant'], limits: [limitOf({ requestsPerUnit: 1000, unit: 'hour' })] }),
  };
  const { headers = [] } = added({ rules, verdicts: [over(2_400_000), fits(994, 21_600_000)] }, { responseHeaders: 'ietf' });
  expect(page).toContain(`${headers.map(({ name, value }) => `    ${name}: ${value}\n`).join('')}\n`);
});

test('the page shows the metadata of a decision', () => {
  const rules = {
    'merchant=m': ruleOf({ path: ['plan_free', 'merchant'], limits: [limitOf({ requestsPerUnit: 1000, unit: 'hour' })] }),
    'client=c': ruleOf({ path: ['path_/login', 'client'], limits: [limitOf({ name: 'logins', requestsPerUnit: 3, unit: 'hour' })] }),
  };
  const request = requestOf(['merchant=m', 'client=c', 'other=o'].map((entry) => ({ entries: entriesOf(entry) })));
  const { metadata } = added({ rules, verdicts: [fits(994, 21_600_000), over(1_187_401_500)], request }, { decisionMetadata: true });
  const [shown = ''] = fencedBlocks(FILE, 'json');
  expect(JSON.parse(shown.replaceAll('payments.', 'd.'))).toEqual(metadata);
});

test('the YAML is a configuration without warnings', () => {
  const blocks = fencedBlocks(FILE, 'yaml');
  expect(blocks.map((block) => compileText(block).warnings)).toEqual([[]]);
});

test('the page has every mode and every bound', () => {
  for (const mode of RESPONSE_HEADERS) expect(page).toContain(`\`${mode}\``);
  expect(page).toContain(`At most ${LISTED_MAX} limits are listed`);
  expect(page).toContain(`${POLICY_NAME_CHARS_MAX} characters at most`);
});
