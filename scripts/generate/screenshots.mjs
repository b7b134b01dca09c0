/** `node scripts/generate/screenshots.mjs`: makes the pictures of docs/images from a Weir that runs and decides. Needs a build and Chromium. */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { chromium } from 'playwright-core';
import { installChromium } from '../install/system/chromium.mjs';
import { ROOT, exitWith } from '../process/repository.mjs';

const IMAGES = join(ROOT, 'docs', 'images');
const PORTS = { PORT: '28080', GRPC_PORT: '28081', DEBUG_PORT: '28082', ADMIN_PORT: '28083' };
const ADMIN = `http://127.0.0.1:${PORTS.ADMIN_PORT}`;
const READY_MS = 30_000;
const SIZE = { width: 1280, height: 800 };
/** Until the charts have a line. */
const LOAD_MS = 90_000;
const TURN_MS = 250;
const PAGE_MS = 1_500;

/** By file. */
const PICTURES = {
  'console-overview': '',
  'console-tenant': 'tenant?domain=payments&entries=merchant%3Dmerchant_0',
  'console-try': 'try?domain=payments&d=merchant%3Dmerchant_7&d=endpoint%3D%2Fcharge',
};

const definition = loadSync('envoy/service/ratelimit/v3/rls.proto', { includeDirs: [join(ROOT, 'proto')], keepCase: true });
const service = /** @type {grpc.ServiceDefinition} */ (definition['envoy.service.ratelimit.v3.RateLimitService']);
const SHOULD_RATE_LIMIT = /** @type {grpc.MethodDefinition<object, Buffer>} */ (service.ShouldRateLimit);
const client = new grpc.Client(`127.0.0.1:${PORTS.GRPC_PORT}`, grpc.credentials.createInsecure());

const { path: executablePath, missing } = await installChromium();
if (missing !== undefined) exitWith(missing);
const folder = mkdtempSync(join(tmpdir(), 'weir-screenshots-'));
const token = randomBytes(32).toString('hex');
const tokens = join(folder, 'tokens');
writeFileSync(tokens, `ann support ${createHash('sha256').update(token).digest('hex')}\n`);
const server = spawn(process.execPath, [join(ROOT, 'dist', 'main.js'), 'serve', '--config', join('deploy', 'tenants', 'payments.yaml')], {
  cwd: ROOT,
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, ...PORTS, BACKEND_TYPE: 'memory', ADMIN_TOKENS_FILE: tokens, DRAIN_DELAY: '0s', LOG_LEVEL: 'error' },
});
try {
  await untilReady();
  await put('/v1/tenants/payments/merchant_2', { plan: 'enterprise', reason: 'upgrade' });
  const entries = [{ key: 'merchant', value: 'merchant_0' }];
  await put('/v1/overrides/payments/sale-1', {
    entries,
    limit: { name: 'free_plan', requests_per_unit: 300, unit: 'minute' },
    until: '2100-01-01T00:00:00Z',
    reason: 'sale of the week',
  });
  await decide(LOAD_MS);
  await takePictures();
} finally {
  client.close();
  server.kill('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
}

async function untilReady() {
  const endMs = Date.now() + READY_MS;
  while (Date.now() < endMs) {
    const isReady = await fetch(`${ADMIN}/`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await pause(TURN_MS);
  }
  exitWith(`no console at ${ADMIN} within ${READY_MS} ms; run npm run build`);
}

/**
 * @param {string} path
 * @param {unknown} body
 */
async function put(path, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const { ok, status } = await fetch(`${ADMIN}${path}`, { method: 'PUT', headers, body: JSON.stringify(body) });
  if (!ok) exitWith(`PUT ${path} got ${status}`);
}

/**
 * Over gRPC, as Envoy asks: the latencies of the overview are those of gRPC calls.
 *
 * @param {object} request
 * @returns {Promise<void>}
 */
function ask(request) {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      SHOULD_RATE_LIMIT.path,
      SHOULD_RATE_LIMIT.requestSerialize,
      (bytes) => bytes,
      request,
      (error) => {
        if (error) reject(error);
        else resolve();
      },
    );
  });
}

/**
 * Requests of twelve merchants, while the live figures are collected. The first ones ask most.
 *
 * @param {number} ms
 */
async function decide(ms) {
  const endMs = Date.now() + ms;
  for (let turn = 0; Date.now() < endMs; turn += 1) {
    for (let call = 0; call < 6; call += 1) {
      const merchant = Math.floor(((turn * 7 + call * 5) % 12) ** 2 / 12);
      const descriptors = [
        { entries: [{ key: 'merchant', value: `merchant_${merchant}` }] },
        { entries: [{ key: 'endpoint', value: '/charge' }] },
      ];
      await ask({ domain: 'payments', hits_addend: 1 + ((turn + call) % 3), descriptors });
    }
    if (turn % 10 === 0) await fetch(`${ADMIN}/v1/live`, { headers: { authorization: `Bearer ${token}` } });
    await pause(TURN_MS);
  }
}

async function takePictures() {
  const browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] });
  const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light', reducedMotion: 'reduce' });
  await page.goto(`${ADMIN}/`);
  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1 }).waitFor();
  mkdirSync(IMAGES, { recursive: true });
  for (const [file, address] of Object.entries(PICTURES)) {
    await page.goto(`${ADMIN}/#/${address}`);
    await pause(PAGE_MS);
    await page.screenshot({ path: join(IMAGES, `${file}.png`) });
    console.log(join('docs', 'images', `${file}.png`));
  }
  await browser.close();
}
