/** The page Try shows exactly what `weir simulate` does, and no link can make it hang. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import type { Simulation } from '../../src/program/cli/simulate/run-simulation';
import { HASH_CHARS_MAX } from '../../site/try/settings';
import { axe, openBrowser, openPage, overflow, type ConsolePage } from '../support/console/browser';
import { runWeir } from '../support/processes/command';
import { builtSite, serveSite, type ServedSite } from '../support/site/served-site';

const BUILT_WITHIN_MS = 600_000;

let site: ServedSite;
let browser: Browser;
let opened: ConsolePage;

beforeAll(async () => {
  const [folder, chromium] = await Promise.all([builtSite(), openBrowser()]);
  browser = chromium;
  site = await serveSite(folder);
  opened = await openPage(browser, { url: site.origin, viewport: { width: 1280, height: 900 } });
}, BUILT_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await site.close();
});

/** Opens a link as somebody does who was sent it: in a page that was not there. */
async function open(hash: string): Promise<Page> {
  const { page } = opened;
  await page.goto('about:blank');
  await page.goto(`${site.at('try.html')}${hash}`);
  await page.locator('.try form').waitFor();
  return page;
}

/** Follows a link in the page that is open. */
async function openHere(hash: string): Promise<Page> {
  const { page } = opened;
  if (!page.url().startsWith(site.origin)) return open(hash);
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  return page;
}

/** The figures that the page gives to download. */
function jsonOf(page: Page): Promise<string> {
  return page.evaluate(`fetch(document.querySelector('.try a[download]').href).then((answer) => answer.text())`);
}

const LINKS: readonly (readonly [what: string, hash: string])[] = [
  ['a steady rate', '#requests=100&rate=3%2Fs&for=2m'],
  ['two bursts at the edge of a window', '#requests=200&burst=200&at=59s+61s&columns=40'],
  ['random arrivals of a seed, with clients that honour the answer', '#requests=30&poisson=2%2Fs&seed=7&for=45s&retry=honour'],
  [
    'a rate and a burst under capacities',
    '#requests=60&capacity=5&algorithm=token_bucket%2Cleaky_bucket&burst=60&at=0s&rate=1%2Fs&from=1s&for=59s',
  ],
  [
    'a pasted list',
    `#requests=7&unit=second&hits=3&columns=17&arrivals=${encodeURIComponent('# mine\n0.25\n1.5s\n1.5s\n1501ms\n2026-01-01T00:00:03.000001Z\n')}`,
  ],
  ['clients that come again too soon', '#requests=10&algorithm=fixed_window&burst=30&retry=1s&retries-max=120'],
  ['a limit for a year', '#requests=3&unit=year&poisson=1%2Fday&for=900d&seed=4294967295'],
];

test.each(LINKS)('%s: the figures are those of the command that the page shows, to the byte', async (_what, hash) => {
  const page = await open(hash);
  await page.locator('.results').waitFor();
  const command = (await page.locator('.command').innerText()).trim();
  const list = path.join(mkdtempSync(path.join(tmpdir(), 'weir-try-')), 'times');
  writeFileSync(list, new URLSearchParams(hash.slice(1)).get('arrivals') ?? '');
  const [weir, simulate, ...args] = command.replace('--arrivals -', `--arrivals ${list}`).split(' ');
  expect([weir, simulate]).toEqual(['weir', 'simulate']);
  const { stdout, stderr } = await runWeir(['simulate', ...args, '--format', 'json']);
  expect(stderr).toBe('');
  expect(await jsonOf(page)).toBe(stdout);
  const { simulations } = JSON.parse(stdout) as { readonly simulations: readonly Simulation[] };
  for (const { name, admitted, requests, columns } of simulations) {
    const figure = page.locator(`[data-simulation=${name}]`);
    expect(await figure.locator('figcaption').innerText()).toContain(`${admitted} of ${requests} admitted`);
    const counts = (kind: 'admitted' | 'denied') => columns.filter((column) => column[kind] > 0).length;
    expect(await figure.locator('rect.admitted').count()).toBe(counts('admitted'));
    expect(await figure.locator('rect.denied').count()).toBe(counts('denied'));
    const points = (await figure.locator('polyline').getAttribute('points'))?.split(' ') ?? [];
    const capacity = Math.max(...columns.map((column) => column.capacity ?? 0));
    expect(points.map((point) => Number(point.split(',')[1]))).toEqual(columns.map(({ left = 0 }) => 120 - (left / capacity) * 120));
  }
  expect(opened.faults).toEqual([]);
});

test('what is typed is in the link, and the link brings all of it back', async () => {
  const page = await open('');
  await page.locator('.results').waitFor();
  await page.getByLabel('Requests', { exact: true }).fill('42');
  await page.getByLabel('In each').selectOption('hour');
  await page.getByRole('checkbox', { name: 'leaky_bucket' }).uncheck();
  await page.getByLabel('Burst', { exact: true }).fill('50');
  await page.getByLabel('Burst at').fill('1s 2s');
  await page.getByLabel('Steady rate').fill('');
  await page.getByLabel('Times', { exact: true }).fill('3s\n4s');
  const hash = new URL(page.url()).hash;
  await page.locator(`.results[data-shows="${hash}"]`).waitFor();
  const figures = await jsonOf(page);
  const again = await open(hash);
  await again.locator(`.results[data-shows="${hash}"]`).waitFor();
  expect(await jsonOf(again)).toBe(figures);
  expect(await again.getByLabel('In each').inputValue()).toBe('hour');
  expect(await again.getByRole('checkbox', { name: 'leaky_bucket' }).isChecked()).toBe(false);
  expect(await again.getByLabel('Times', { exact: true }).inputValue()).toBe('3s\n4s');
  expect(opened.faults).toEqual([]);
});

test.each([
  ['#requests=many&rate=1/s', 'requests', /"many\/minute" is not accepted; use 20\/minute/],
  ['#requests=1&unit=fortnight&rate=1/s', 'requests', /is not accepted; use 20\/minute/],
  ['#requests=2000000&algorithm=sliding_window_log&rate=1/s', 'requests', /the most that sliding_window_log remembers/],
  ['#rate=20', 'rate', /write a number for each s, minute, hour or day/],
  ['#poisson=1/s&seed=-1', 'seed', /use a whole number from 0 to 4294967295/],
  ['#rate=1/s&for=soon', 'for', /"soon" is not a time/],
  ['#burst=5&at=0s+later', 'at', /"later" is not a time/],
  ['#burst=0', 'burst', /use a whole number from 1/],
  ['#arrivals=1s%0Anever', 'arrivals', /Line 2 is not a time/],
  ['#rate=1/s&hits=0', 'hits', /use a whole number from 1/],
  ['#rate=1/s&retry=maybe', 'retry', /use none, honour, or a time/],
  ['#rate=1/s&columns=1001', 'columns', /use a whole number from 1 to 1000/],
  ['#rate=1/s&algorithm=bucket', 'algorithm', /use token_bucket, leaky_bucket/],
  [`#rate=1/s&at=${'1'.repeat(401)}`, 'at', /more than 400 characters/],
  ['#rate=1/s&rate=2/s', 'rate', /this setting twice/],
])('%s: the field says what is wrong', async (hash, setting, message) => {
  const page = await openHere(hash);
  await page.locator(`#try-${setting}-problem`).filter({ hasText: message }).waitFor();
  await page.getByRole('alert').filter({ hasText: message }).waitFor();
  if (setting !== 'algorithm') expect(await page.locator(`#try-${setting}`).getAttribute('aria-invalid')).toBe('true');
  expect(opened.faults).toEqual([]);
});

test('a message is accessible and fits a narrow page', async () => {
  const { page, faults, close } = await openPage(browser, { url: site.origin, viewport: { width: 360, height: 800 }, colorScheme: 'dark' });
  await page.goto(`${site.at('try.html')}#requests=${'9'.repeat(16)}&%22${'y'.repeat(60)}=1`);
  await page
    .getByRole('alert')
    .filter({ hasText: /must be a whole number/ })
    .waitFor();
  expect(await axe(page)).toEqual([]);
  expect(await overflow(page)).toBe(0);
  expect(faults).toEqual([]);
  await close();
});

/** Each ends with figures or a message, and the page goes on. */
test.each([
  ['a link that is too long', `#arrivals=${'1s%0A'.repeat(HASH_CHARS_MAX / 5)}`, /more than 25000 characters/],
  ['a million arrivals', '#rate=999999999/s&for=3660d', /more than 20000 arrivals/],
  ['a million random arrivals', '#poisson=999999999/s&for=3660d', /more than 20000 arrivals/],
  ['bursts beyond the bound', '#burst=20000&at=0s+0s', /more than 20000 arrivals/],
  ['clients that come again for ever', '#requests=1&burst=20000&retry=1us&retries-max=1000', /clients ask more than 50000 times/i],
  ['a time beyond the bound', '#burst=1&at=40000d', /more than 3660 days after the start/],
  ['times beyond the bound by repetitions', '#requests=1&unit=year&burst=100&retry=honour', /more than 3660 days after the start/],
  ['names of objects', '#__proto__=1&constructor=2&toString=3&rate=1/s', /unknown setting, "__proto__"/],
  ['markup', '#%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E=1&requests=%3Cscript%3E', /unknown setting, "<img src=x onerror=alert\(1\)>"/],
  ['a thousand unknown settings', `#${'x=1&'.repeat(1_000)}`, /unknown setting, "x"/],
])('%s: a message, and the page goes on', async (_what, hash, message) => {
  const page = await open(hash);
  await page.getByRole('alert').filter({ hasText: message }).waitFor();
  await goesOn(page);
});

test('a link of broken UTF-8: a message, and the page goes on', async () => {
  const page = await open('#%E0%A4%A&%ff=%ff');
  await page
    .getByRole('alert')
    .filter({ hasText: /unknown setting/ })
    .waitFor();
  // VitePress looks for a heading of that name, and warns.
  expect(opened.faults.splice(0)).toEqual([expect.stringMatching(/^URIError: URI malformed/)]);
  await goesOn(page);
});

test.each([
  [
    'the most that is simulated',
    '#requests=9007199254740&unit=second&burst=10000&at=0s+1d&columns=1000&algorithm=token_bucket%2Cfixed_window',
  ],
  ['a hash without a setting', '#'],
])('%s: figures or a message, and the page goes on', async (_what, hash) => {
  const page = await open(hash);
  await page.locator('.results, .failures p').first().waitFor();
  await goesOn(page);
});

async function goesOn(page: Page): Promise<void> {
  for (const [label, text] of [
    ['Requests', '5'],
    ['Steady rate', '1/s'],
    ['Burst', ''],
  ] as const)
    await page.getByLabel(label, { exact: true }).fill(text);
  for (const label of ['Burst at', 'Random rate', 'After a denial', 'Rates for']) await page.getByLabel(label).fill('');
  await page.getByLabel('Times', { exact: true }).fill('');
  await page.getByRole('checkbox', { name: 'fixed_window' }).check();
  await page.locator(`.results[data-shows="${new URL(page.url()).hash}"]`).waitFor();
  expect(opened.faults).toEqual([]);
}
