/** The page for a portal shows a tenant its usage from another origin, is accessible, fits, and writes no name as markup. */

import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { Browser, Page } from 'playwright-core';
import { axe, openBrowser, overflow } from '../support/console/browser';
import { CONSOLE_TOKENS, serveConsole, type ServedConsole } from '../support/console/served-console';
import { until } from '../support/clock/until';
import { freePort } from '../support/servers/ports';

const STARTED_WITHIN_MS = 90_000;
const YAML = `
domain: payments
algorithm: fixed_window
plans:
  free:
    pool: [{ name: together, unit: day, requests_per_unit: 500000 }]
    rate_limits:
      - { name: "<b>calls</b>", unit: day, requests_per_unit: 100000 }
      - { name: tokens, unit: month, requests_per_unit: 4000000000 }
      - { name: money, unit: total, requests_per_unit: 4250000, show: { unit: USD, divide: 1000000 } }
descriptors: [{ key: merchant, tenant: true, default_plan: free }]
`;

let served: ServedConsole;
let browser: Browser;
let portal: Server;
let portalUrl: string;
let token = CONSOLE_TOKENS.tenant;

beforeAll(async () => {
  const port = await freePort();
  portalUrl = `http://localhost:${port}`;
  [served, browser] = await Promise.all([serveConsole({ yaml: YAML, env: { ADMIN_USAGE_ORIGINS: portalUrl } }), openBrowser()]);
  const files: Readonly<Record<string, () => readonly [type: string, text: string]>> = {
    '/': () => ['text/html', readFileSync('deploy/portal/index.html', 'utf8').replace('http://127.0.0.1:6071', served.url)],
    '/weir-usage.js': () => ['text/javascript', readFileSync('deploy/portal/weir-usage.js', 'utf8')],
    '/weir-token': () => ['text/plain', token],
  };
  portal = createServer(({ url = '' }, response) => {
    const [type, text] = files[url]?.() ?? ['text/plain', ''];
    response.writeHead(text === '' ? 404 : 200, { 'content-type': type }).end(text);
  });
  await new Promise<void>((resolve) => portal.listen(port, '127.0.0.1', resolve));
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await served.close();
  await new Promise((resolve) => portal.close(resolve));
});

async function open(width: number): Promise<{ readonly page: Page; readonly faults: readonly string[] }> {
  const page = await browser.newPage({ viewport: { width, height: 800 } });
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(portalUrl);
  return { page, faults };
}

test.each([360, 1280])('a tenant sees its limits at %i px', async (width) => {
  await served.ask([['merchant', 'm1']], { hits: 1_000 });
  const { page, faults } = await open(width);
  await page.getByRole('table', { name: 'Plan free, merchant m1' }).waitFor();
  const used = page.getByRole('row', { name: '<b>calls</b>: 100,000 per day' });
  expect(await used.innerText()).toMatch(/<b>calls<\/b>: 100,000 per day\s+[12],000\s+9[89],000/);
  expect(await page.getByRole('row', { name: 'tokens: 4,000,000,000 per month' }).count()).toBe(1);
  expect(await page.getByRole('row', { name: 'together: 500,000 per day, shared' }).count()).toBe(1);
  const money = page.getByRole('row', { name: 'money: 4.25 USD in total' });
  expect(await money.innerText()).toMatch(/money: 4\.25 USD in total\s+0\.00[12] USD\s+4\.24[89] USD\s+never/);
  expect(await axe(page)).toEqual([]);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  expect(faults).toEqual([]);
  await page.close();
});

test('a block, a token that is not valid and an instance that is away are said', async () => {
  await served.admin({
    method: 'PUT',
    path: '/v1/blocks/payments/b',
    body: { entries: [{ key: 'merchant', value: 'm1' }], reason: 'a secret of the operator' },
  });
  const { page } = await open(1280);
  await page.getByText('All requests are denied now.').waitFor();
  expect(await page.content()).not.toContain('secret of the operator');
  token = 'another-0123456789abcdef';
  await page.reload();
  await page.getByText('the token is not one of ADMIN_TOKENS_FILE').waitFor();
  token = CONSOLE_TOKENS.tenant;
  await served.admin({ method: 'DELETE', path: '/v1/blocks/payments/b' });
  // An answer is kept for a second.
  await until(async () => {
    await page.reload();
    await page
      .locator('weir-usage')
      .getByText(/Used|denied now/)
      .first()
      .waitFor();
    return (await page.getByRole('table').count()) === 1 && (await page.getByText('denied now').count()) === 0;
  });
  await page.route('**/v1/usage', (route) => route.abort());
  await page.evaluate("document.querySelector('weir-usage').token = 'any'");
  await until(async () => (await page.getByText('The usage cannot be read now.').count()) === 1);
  await page.close();
});
