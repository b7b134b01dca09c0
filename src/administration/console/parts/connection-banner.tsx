/** Says that the admin API does not answer, that it is slow, or that the role changed. */

import { useEffect, useState } from 'preact/hooks';
import { awaySince } from '../api/client';
import { isSlow, SLOW_MS } from '../api/patience';
import { wasRefused } from '../api/session';
import { showDuration } from '../api/show';
import { State } from './state';

const TICK_MS = 1_000;

export function ConnectionBanner() {
  const since = awaySince.value;
  const [nowMs, setNowMs] = useState(Date.now());
  useEffect(() => {
    if (since === undefined) return;
    const timer = setInterval(() => {
      setNowMs(Date.now());
    }, TICK_MS);
    return () => {
      clearInterval(timer);
    };
  }, [since]);
  return (
    <div role="status">
      {since !== undefined && (
        <p class="banner">
          <State kind="bad">The admin API does not answer.</State> Figures are as they were {showDuration(Math.max(1_000, nowMs - since))}{' '}
          ago. The console tries again by itself.
        </p>
      )}
      {since === undefined && isSlow.value && (
        <p class="banner">
          <State kind="warn">The admin API is slow: its answers take more than {SLOW_MS / 1_000} s.</State> What the page shows stays until
          the next answer.
        </p>
      )}
      {wasRefused.value && (
        <p class="banner">
          <State kind="warn">The admin API refused a request, because your role does not allow it.</State> The console shows what it allows
          now.{' '}
          <button
            type="button"
            class="quiet"
            onClick={() => {
              wasRefused.value = false;
            }}
          >
            Close
          </button>
        </p>
      )}
    </div>
  );
}
