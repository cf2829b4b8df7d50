/** A part of the page with lazily loaded code, a placeholder until then, and a message if loading fails. */
import { ErrorBoundary, type JSX, Suspense } from "solid-js";

export function Part(props: { waiting?: string; children: JSX.Element }) {
  return (
    <ErrorBoundary
      fallback={
        <p class="pad wrong" role="alert">
          This part of the page could not be loaded. Reload the page.
        </p>
      }
    >
      <Suspense fallback={props.waiting ? <p class="quiet pad">{props.waiting}</p> : undefined}>
        {props.children}
      </Suspense>
    </ErrorBoundary>
  );
}
