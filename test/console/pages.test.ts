/** Each page of the console is accessible and fits at 360, 1,280 and 2,560 px, in both themes. */

import type { Browser } from 'playwright-core';
import { axe, openBrowser, openConsole, overflow, type ConsolePage } from '../support/console/browser';
import { CONSOLE_TOKENS, serveConsole, type ServedConsole } from '../support/console/served-console';
import { until } from '../support/clock/until';

const STARTED_WITHIN_MS = 90_000;

const SIZES = [
  { width: 360, height: 740 },
  { width: 1280, height: 900 },
  { width: 2560, height: 1440 },
] as const;

const PAGES: readonly (readonly [address: string, heading: string, content: string])[] = [
  ['', 'Overview', 'By rule'],
  ['limited', 'Who is limited', 'merchant=merchant_9'],
  ['tenants', 'Tenants', 'merchant_8'],
  ['tenant?domain=payments&entries=merchant%3Dmerchant_9', 'merchant_9', 'Limits in force'],
  ['exceptions', 'Exceptions', 'stray'],
  ['rollouts', 'Rollouts', 'candidate'],
  ['rules', 'Rules', 'endpoint'],
  ['try?domain=payments&d=merchant%3Dmerchant_9&d=endpoint%3D%2Fpay', 'Try', 'Verdict'],
  ['tail', 'Live tail', 'Start'],
  ['audit', 'Audit', 'merchant_8'],
  ['events', 'Events', 'EVENTS_URL'],
  ['instances', 'Instances', 'serves'],
];

let served: ServedConsole;
let browser: Browser;

beforeAll(async () => {
  [served, browser] = await Promise.all([serveConsole(), openBrowser()]);
  await served.admin({ method: 'PUT', path: '/v1/tenants/payments/merchant_8', body: { plan: 'enterprise', reason: 'contract' } });
  await served.admin({
    method: 'PUT',
    path: '/v1/overrides/payments/stray',
    body: { entries: [{ key: 'merchent', value: 'merchant_42' }], limit: { requests_per_unit: 9, unit: 'minute' } },
  });
  await served.ask([['merchant', 'merchant_9']], { hits: 100 });
  for (let i = 0; i < 3; i += 1) await served.ask([['merchant', 'merchant_9']], { hits: 50 });
  await until(async () => {
    const { json } = await served.admin({ path: '/v1/top', query: 'question=denied' });
    return (json as { readonly items: readonly unknown[] }).items.length > 0;
  });
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await served.close();
});

describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
  describe.each(SIZES)('at $width × $height', (viewport) => {
    let opened: ConsolePage;

    beforeAll(async () => {
      opened = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.admin, viewport, colorScheme });
    });

    afterAll(() => opened.close());

    test.each(PAGES)('the page "%s" is accessible and fits', async (address, heading, content) => {
      const { page, faults } = opened;
      await page.goto(`${served.url}/#/${address}`);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await page.getByText(content).first().waitFor();
      expect(await axe(page)).toEqual([]);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      expect(faults).toEqual([]);
    });

    test('a change is accessible and fits', async () => {
      const { page, faults } = opened;
      await page.goto(`${served.url}/#/tenant?domain=payments&entries=merchant%3Dmerchant_9`);
      await page.getByRole('button', { name: 'Override…' }).click();
      await page.getByLabel('Reason').fill('sale');
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.getByText('The dry run says').waitFor();
      expect(await axe(page)).toEqual([]);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      await page.keyboard.press('Escape');
      expect(faults).toEqual([]);
    });
  });

  test('the sign-in is accessible', async () => {
    const { page, faults, close } = await openConsole(browser, { url: served.url, colorScheme });
    await page.getByLabel('Token').waitFor();
    expect(await axe(page)).toEqual([]);
    expect(faults).toEqual([]);
    await close();
  });
});

test('the first view takes at most 150 KB on the wire, and comes from this server alone', async () => {
  const { page, faults, close } = await openConsole(browser, { url: served.url });
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  await page.reload({ waitUntil: 'networkidle' });
  await page.getByLabel('Token').waitFor();
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThanOrEqual(150_000);
  expect(faults).toEqual([]);
  await close();
});
