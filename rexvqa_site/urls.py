from django.urls import include, path

urlpatterns = [path("", include("annotation.urls")), path("", include("readerstudy.urls"))]

handler400 = "annotation.views.errors.bad_request"
handler403 = "annotation.views.errors.forbidden"
handler404 = "annotation.views.errors.not_found"
handler500 = "annotation.views.errors.server_error"
