/** The frame of the console: sign-in, navigation, what is wrong with the connection, and the page of the address. */

import type { ComponentType } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { isSlow } from './api/patience';
import { place } from './api/route';
import { mayChange, readSession, session } from './api/session';
import { ConnectionBanner } from './parts/connection-banner';
import { Masthead } from './parts/masthead';
import { AuditPage } from './pages/audit';
import { EventsPage } from './pages/events';
import { ExceptionsPage } from './pages/exceptions';
import { InstancesPage } from './pages/instances';
import { LimitedPage } from './pages/limited';
import { OverviewPage } from './pages/overview';
import { RolloutsPage } from './pages/rollouts';
import { RulesPage } from './pages/rules';
import { SignInPage } from './pages/sign-in';
import { TailPage } from './pages/tail';
import { TenantPage } from './pages/tenant';
import { TenantsPage } from './pages/tenants';
import { TryPage } from './pages/try';

interface Page {
  readonly name: string;
  readonly title: string;
  readonly View: ComponentType;
  /** Shown in the navigation. */
  readonly isListed: boolean;
  /** Only for those who may change something. */
  readonly needsSupport?: boolean;
}

const PAGES: readonly Page[] = [
  { name: '', title: 'Overview', View: OverviewPage, isListed: true },
  { name: 'limited', title: 'Who is limited', View: LimitedPage, isListed: true },
  { name: 'tenants', title: 'Tenants', View: TenantsPage, isListed: true },
  { name: 'tenant', title: 'Tenant', View: TenantPage, isListed: false },
  { name: 'exceptions', title: 'Exceptions', View: ExceptionsPage, isListed: true },
  { name: 'rollouts', title: 'Rollouts', View: RolloutsPage, isListed: true },
  { name: 'rules', title: 'Rules', View: RulesPage, isListed: true },
  { name: 'try', title: 'Try', View: TryPage, isListed: true },
  { name: 'tail', title: 'Live tail', View: TailPage, isListed: true, needsSupport: true },
  { name: 'audit', title: 'Audit', View: AuditPage, isListed: true, needsSupport: true },
  { name: 'events', title: 'Events', View: EventsPage, isListed: true, needsSupport: true },
  { name: 'instances', title: 'Instances', View: InstancesPage, isListed: true },
];

const RETRY_MS = 3_000;

export function App() {
  const state = session.value;
  useEffect(() => {
    if (state.kind !== 'away') return;
    const timer = setInterval(() => void readSession(), RETRY_MS);
    return () => {
      clearInterval(timer);
    };
  }, [state.kind]);
  if (state.kind === 'asking')
    return (
      <main class="alone" aria-busy="true">
        {isSlow.value && <p role="status">The admin API is slow. The console waits for its answer.</p>}
      </main>
    );
  if (state.kind === 'away')
    return (
      <main class="alone">
        <h1>Weir</h1>
        <p role="status">The admin API does not answer. The console tries again every three seconds.</p>
      </main>
    );
  if (state.kind === 'signed-out') return <SignInPage />;
  return <Signed />;
}

function Signed() {
  const { page: name } = place.value;
  const allowed = PAGES.filter(({ needsSupport }) => needsSupport !== true || mayChange.value);
  const page = allowed.find((each) => each.name === name);
  const title = page?.title ?? 'Not found';
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${title} · Weir`;
    // A reader of the screen goes on at the new page, and not in the navigation.
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [name, title]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        To the content
      </a>
      <Masthead pages={allowed.filter(({ isListed }) => isListed)} current={name === 'tenant' ? 'tenants' : name} />
      <main ref={main} tabIndex={-1} id="main">
        <ConnectionBanner />
        {page === undefined ? (
          <>
            <h1>Not found</h1>
            <p>
              The console has no such page for your role. <a href="#/">To the overview</a>
            </p>
          </>
        ) : (
          <page.View key={name} />
        )}
      </main>
    </>
  );
}
