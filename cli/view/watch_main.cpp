// plimsoll-watch: the report of a run that goes on, as a page on loopback. `plimsoll watch` becomes this program.
//   in:    RUN --port N [--json]
//   out:   http://127.0.0.1:N/, which draws itself again when the run has told something new. Ends by a signal.
//   never: writes into the run folder, listens on anything but loopback
#include <fmt/format.h>
#include <httplib.h>
#include <plimsoll/report.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

#include "../output.h"
#include "words.h"

namespace {

constexpr auto kLook = std::chrono::milliseconds(500);
constexpr int kLooksPerSign = 20;  // of life, where nothing is new: a reader that has gone is noticed by it
constexpr size_t kThreads = 8;     // each open page holds one

// The page asks for its inside again on each event; scroll position and opened details stay.
constexpr const char* kScript = R"(<script>
const source = new EventSource("/events");
source.onmessage = async () => {
  const answer = await fetch("/body");
  if (!answer.ok) return;
  const open = [...document.querySelectorAll("details")].map(d => d.open);
  document.querySelector("main").innerHTML = await answer.text();
  document.querySelectorAll("details").forEach((d, i) => { d.open = open[i] || false; });
  document.body.dataset.draws = Number(document.body.dataset.draws || 0) + 1;
};
</script>
)";

// What tells one state of the run folder from the next: sizes and times of what a run writes.
std::string MarkOf(const std::string& run) {
  std::string mark;
  for (const char* name : {"/metrics.jsonl", "/plan.json", "/model"}) {
    struct stat facts {};
    if (::stat((run + name).c_str(), &facts) == 0)
      mark += fmt::format("{}.{}.{} ", facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
  }
  return mark;
}

void Answer404(const plimsoll::Status& status, httplib::Response& response) {
  response.status = 404;
  response.set_content(status.message() + "\n", "text/plain; charset=utf-8");
}

// Other pages of the same browser may reach loopback by a name that they own: only loopback's own names are answered.
bool IsOurs(const httplib::Request& request) {
  const std::string host = request.get_header_value("Host");
  const std::string name = host.substr(0, host.rfind(':'));
  return name == "127.0.0.1" || name == "localhost";
}

void AddPages(httplib::Server& server, const std::string& run) {
  server.set_pre_routing_handler([](const httplib::Request& request, httplib::Response& response) {
    if (IsOurs(request)) return httplib::Server::HandlerResponse::Unhandled;
    response.status = 403;
    return httplib::Server::HandlerResponse::Handled;
  });
  server.Get("/", [run](const httplib::Request&, httplib::Response& response) {
    plimsoll::Result<plimsoll::RunReport> report = plimsoll::MakeReport({.run = run, .against = ""});
    if (!report.ok()) return Answer404(report.status(), response);
    std::string page = std::move(report->page);
    page.insert(page.rfind("</body>"), kScript);
    response.set_content(page, "text/html; charset=utf-8");
  });
  server.Get("/body", [run](const httplib::Request&, httplib::Response& response) {
    plimsoll::Result<plimsoll::RunReport> report = plimsoll::MakeReport({.run = run, .against = ""});
    if (!report.ok()) return Answer404(report.status(), response);
    response.set_content(report->body, "text/html; charset=utf-8");
  });
  server.Get("/events", [run, &server](const httplib::Request&, httplib::Response& response) {
    response.set_header("Cache-Control", "no-store");
    response.set_chunked_content_provider("text/event-stream",
                                          [run, &server, mark = MarkOf(run)](size_t, httplib::DataSink& sink) mutable {
                                            for (int look = 0; look < kLooksPerSign && server.is_running(); ++look) {
                                              std::this_thread::sleep_for(kLook);
                                              std::string now = MarkOf(run);
                                              if (now == mark) continue;
                                              mark = std::move(now);
                                              constexpr std::string_view kNews = "data: changed\n\n";
                                              return sink.write(kNews.data(), kNews.size());
                                            }
                                            constexpr std::string_view kAlive = ": alive\n\n";
                                            return server.is_running() && sink.write(kAlive.data(), kAlive.size());
                                          });
  });
}

int Run(int argc, char** argv) {
  const bool json = HasFlag(argc, argv, "--json");
  if (argc < 2) return Fail(json, plimsoll::Status::Usage("which run?", "plimsoll watch runs/NAME"));
  const std::string run = argv[1];
  int port = std::atoi(ValueOf(argc, argv, "--port").c_str());
  if (const auto report = plimsoll::MakeReport({.run = run, .against = ""}); !report.ok()) return Fail(json, report.status());

  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_socket_options([](socket_t socket) {  // without the library's SO_REUSEPORT, by which two would share a port
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  AddPages(server, run);
  const bool bound = port == 0 ? (port = server.bind_to_any_port("127.0.0.1")) > 0 : server.bind_to_port("127.0.0.1", port);
  if (!bound) {
    return Fail(json,
                plimsoll::Status::Usage(fmt::format("port {} of 127.0.0.1 cannot be used: {}", port, std::strerror(errno)),
                                        "another --port, or --port 0 for one that is free"));
  }
  const std::string address = fmt::format("http://127.0.0.1:{}/", port);
  const int told = json ? AnswerJson(Json{{"address", address}})
                        : Answer(fmt::format("watch   {}  (Ctrl-C ends it; the run goes on)\n", address));
  if (told != 0) return told;
  return server.listen_after_bind() ? 0 : static_cast<int>(plimsoll::StatusKind::Internal);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    return Fail(false, plimsoll::Status(plimsoll::StatusKind::Internal, {.message = error.what(), .hint = ""}));
  }
}
