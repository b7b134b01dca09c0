/** The page of headers shows the headers, bodies and metadata that Weir writes in every mode. */

import { readFileSync } from 'node:fs';
import type { Decision } from '../../../src/domain/decide/decision';
import { additionsFor, type AdditionOptions } from '../../../src/domain/respond/response-additions';
import { LISTED_MAX } from '../../../src/domain/respond/headers/policy-names';
import {
  PLACEHOLDER_NAMES,
  POLICY_NAME_CHARS_MAX,
  VALUE_BYTES_MAX,
  VIOLATED_POLICIES_MAX,
} from '../../../src/domain/rule/body/placeholders';
import { BODY_BYTES_MAX, NO_BODY, PROBLEM } from '../../../src/domain/rule/body/response-body';
import { LIMIT_FORMS, RESET_FORMS, RESPONSE_HEADERS } from '../../../src/domain/rule/limit';
import type { RuleSet } from '../../../src/domain/rule/rule-set';
import { answeredOf, fits, over, type Said } from '../../support/decisions/decided-request';
import { fencedBlocks } from '../../support/docs/markdown';
import { entriesOf, levelOf, limitOf, requestOf, ruleOf, ruleSetOf } from '../../support/decisions/rules';
import { compileText } from '../../unit/compile/compile-config';

const FILE = 'docs/headers.md';
const page = readFileSync(FILE, 'utf8');

const OFF: AdditionOptions = {
  responseHeaders: 'off',
  headerNames: { limit: 'RateLimit-Limit', remaining: 'RateLimit-Remaining', reset: 'RateLimit-Reset' },
  headerForms: { limit: 'requests_per_unit', reset: 'seconds' },
  retryAfter: undefined,
  retryAfterMs: false,
  responseBody: NO_BODY,
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
  const shown = fencedBlocks(FILE, 'json').find((block) => block.includes('decision')) ?? '';
  expect(JSON.parse(shown.replaceAll('payments.', 'd.'))).toEqual(metadata);
});

test('the page shows the ready-made problem', () => {
  const rules = { search: ruleOf({ limits: [limitOf({ name: 'search', requestsPerUnit: 100, unit: 'minute' })] }) };
  const { body = '' } = added({ rules, verdicts: [over(2_400_000)] }, { responseBody: PROBLEM });
  const shown = fencedBlocks(FILE, 'json').find((block) => block.includes('violated-policies')) ?? '';
  expect(JSON.parse(shown)).toEqual(JSON.parse(body));
});

test('the page has every placeholder, every form and every bound of a body', () => {
  for (const name of PLACEHOLDER_NAMES) expect(page).toContain(`\`{${name}}\``);
  for (const form of [...LIMIT_FORMS, ...RESET_FORMS]) expect(page).toContain(`| \`${form}\` |`);
  expect(page).toContain(`A body has ${BODY_BYTES_MAX / 1024} KiB at most`);
  expect(page).toContain(`cut at ${VALUE_BYTES_MAX} bytes`);
  expect(page).toContain(`names of all limits that deny, at most ${VIOLATED_POLICIES_MAX}`);
});

test('the YAML is a configuration without warnings', () => {
  const blocks = fencedBlocks(FILE, 'yaml');
  expect(blocks.map((block) => compileText(block).warnings)).toEqual([[], [], []]);
});

test('the page has every mode and every bound', () => {
  for (const mode of RESPONSE_HEADERS) expect(page).toContain(`\`${mode}\``);
  expect(page).toContain(`At most ${LISTED_MAX} limits are listed`);
  expect(page).toContain(`${POLICY_NAME_CHARS_MAX} characters at most`);
});
