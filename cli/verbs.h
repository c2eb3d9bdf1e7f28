// verbs: one function a verb. Each prints its result on stdout and returns the exit code.
#pragma once

#include "arguments.h"

int RunTrain(const Arguments& arguments);
int RunPlan(const Arguments& arguments);
int RunEvaluate(const Arguments& arguments);
int RunPredict(const Arguments& arguments);
int RunGenerate(const Arguments& arguments);
int RunLengths(const Arguments& arguments);
int RunSummary(const Arguments& arguments);
int RunVerify(const Arguments& arguments);
int RunDoctor(const Arguments& arguments);
int RunResize(const Arguments& arguments);
int RunExplain(const Arguments& arguments);
int RunWatch(const Arguments& arguments);
int RunBench(const Arguments& arguments);
int RunCompletion(const Arguments& arguments);
int RunDemo(const Arguments& arguments);
